"""A local Messages API whose model says what a script says, in the stream that the real client reads."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Turn = str | tuple[str, dict[str, Any]]  # what it says, or the tool that it calls

needs_client = pytest.mark.skipif(
    shutil.which("claude") is None, reason="needs the real Claude Code client on PATH, and there is none"
)


class ScriptedModel:
    """Answers each request for a turn with the next of `script`, and with `done` when it is at its end.

    A script may be a function instead: of the number of turns before in this session, and of what it reads.
    """

    def __init__(self, script: Sequence[Turn] | Callable[[int, str], Turn]) -> None:
        self.script = script if callable(script) else list(script)
        self.requests: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> "ScriptedModel":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, body: dict[str, Any]) -> Turn:
        """The next turn; a request without tools is one of the client's own, such as for a title."""
        if not body.get("tools"):
            return "A title"
        self.requests.append(body)
        if callable(self.script):
            before = sum(message["role"] == "assistant" for message in body["messages"])
            return self.script(before, json.dumps(body))
        return self.script.pop(0) if self.script else "done"

    @property
    def asked(self) -> str:
        """All that the client put to it."""
        return json.dumps(self.requests)

    @property
    def results(self) -> list[str]:
        """What its tool calls came back with, in order."""
        contents = [message["content"] for message in self.requests[-1]["messages"]]
        parts = [part for content in contents if isinstance(content, list) for part in content]
        return [json.dumps(part) for part in parts if part["type"] == "tool_result"]


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

        def do_HEAD(self) -> None:
            self.send_error(404)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model.keys.add(self.headers["x-api-key"])
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in _events(body["model"], model.answer(body), len(model.requests)):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    return Handler


def _events(name: str, turn: Turn, number: int) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 100, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": name, "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
    if isinstance(turn, str):
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": turn}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": turn[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn[1])}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if isinstance(turn, str) else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}
