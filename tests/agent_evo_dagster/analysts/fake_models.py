"""A server on loopback that speaks the Messages API and chat completions, with faults on request."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agent_evo_dagster.analysts.answer import Answer
from agent_evo_dagster.analysts.jury.question import Votes

Reply = tuple[int, Any, dict[str, str]]  # status, JSON or bytes, headers


def message(text: str, *, stop: str = "end_turn") -> dict[str, Any]:
    """An answer of the Messages API."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 5},
    }


def completion(text: str | None, *, stop: str = "stop", refusal: str | None = None) -> dict[str, Any]:
    """An answer of chat completions."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": refusal},
                "finish_reason": stop,
            }
        ],
        "usage": {"prompt_tokens": 105, "completion_tokens": 20, "total_tokens": 125},
    }


class FakeModels:
    """Answers are taken from `script`: a text, a reply, or seconds without an answer before the next."""

    def __init__(self, *script: str | Reply | float) -> None:
        self.script = list(script)
        self.requests: list[tuple[str, dict[str, Any], dict[str, str]]] = []

    def reply(self, path: str, body: dict[str, Any]) -> Reply:
        step = self.script.pop(0)
        if isinstance(step, float):
            time.sleep(step)
            step = self.script.pop(0) if self.script else "{}"
        if not isinstance(step, str):
            return step
        refused = _refused(path, body)
        return refused or (200, (message if path == "/v1/messages" else completion)(step), {})


def _refused(path: str, body: dict[str, Any]) -> Reply | None:
    """What the real services refuse of a request."""
    if path == "/v1/messages":
        schema, most = body["output_config"]["format"]["schema"], body["max_tokens"]
        roles = [one["role"] for one in body["messages"]]
    elif path == "/v1/chat/completions":
        form = body["response_format"]["json_schema"]
        schema, most = form["schema"], body["max_completion_tokens"]
        roles = [one["role"] for one in body["messages"][1:]]
        assert form["strict"] and form["name"] and body["messages"][0]["role"] == "system"
    else:
        return 404, {"error": {"message": "not found"}}, {}
    assert most > 0 and roles == (["user", "assistant"] * 9)[: len(roles)] and len(roles) % 2
    if set(schema["properties"]) not in (set(Answer.model_fields), set(Votes.model_fields)):
        return 400, {"error": {"message": "schema"}}, {}
    return None


@contextmanager
def serving(fake: FakeModels) -> Iterator[str]:
    """The address of a running fake."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.requests.append((self.path, body, dict(self.headers)))
            status, content, headers = fake.reply(self.path, body)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            try:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the client had given up

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
