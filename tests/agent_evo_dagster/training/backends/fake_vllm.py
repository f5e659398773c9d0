"""A server on loopback that speaks the part of vLLM's protocol that is used here, with faults on request."""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, Any, dict[str, str]]  # status, JSON or bytes, headers


class FakeVllm:
    """Turns are scripted by `say`: (context, seed) to ids. `faults` are answered first, one a request."""

    def __init__(self, say: Callable[[list[int], int], list[int]], root: str = "/policies/base") -> None:
        self.say = say
        self.root = root
        self.processed = True
        self.score: Callable[[list[int], list[int]], list[float]] = lambda _, ids: [*map(logprob, ids)]
        self.faults: list[Reply | float] = []  # a float: seconds without an answer
        self.change: Callable[[dict[str, Any]], Any] = lambda answer: answer
        self.requests: list[tuple[str, dict[str, Any] | None, dict[str, str]]] = []
        self.loaded: list[str] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    def answer(self, path: str, body: dict[str, Any] | None) -> Reply:
        if path == "/health":
            return 200, b"", {}
        if path == "/v1/models":
            return 200, {"object": "list", "data": [{"id": "policy", "root": self.root}]}, {}
        if path == "/collective_rpc":
            assert body is not None
            self.loaded.append(body["kwargs"]["weights_path"])
            return 200, {"results": [None]}, {}
        if path == "/reset_prefix_cache":
            return 200, b"", {}
        if path == "/v1/completions":
            assert body is not None
            return 200, self.change(self.completion(body)), {}
        return 404, {"detail": "Not Found"}, {}

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        stop, most = body["stop_token_ids"][0], body["max_tokens"]
        ids = self.say(body["prompt"], body["seed"])[:most]
        scale = 1 / body["temperature"] if self.processed and body["temperature"] else 1.0
        top = {f"token_id:{at}": -scale * (at + 0.1) for at in range(body["logprobs"])}
        return {
            "choices": [
                {
                    "index": 0,
                    "text": "",
                    "finish_reason": "stop" if ids and ids[-1] == stop else "length",
                    "token_ids": ids,
                    "prompt_token_ids": body["prompt"],
                    "logprobs": {
                        "token_logprobs": self.score(body["prompt"], ids),
                        "top_logprobs": [top] * len(ids),
                    },
                }
            ]
        }


def logprob(token: int) -> float:
    """What the fake claims of a token: different tokens have different values."""
    return -int(hashlib.sha256(str(token).encode()).hexdigest()[:4], 16) / 65536


@contextmanager
def serving(fake: FakeVllm) -> Iterator[str]:
    """The address of a running fake."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._handle(None)

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(size)
            self._handle(json.loads(text) if text else None)

        def _handle(self, body: dict[str, Any] | None) -> None:
            with fake.lock:
                fake.requests.append((self.path, body, dict(self.headers)))
                fake.at_once += 1
                fake.most_at_once = max(fake.most_at_once, fake.at_once)
                fault = fake.faults.pop(0) if fake.faults and self.path != "/health" else None
            try:
                if isinstance(fault, float):
                    time.sleep(fault)
                self._send(*(fault if isinstance(fault, tuple) else fake.answer(self.path, body)))
            finally:
                with fake.lock:
                    fake.at_once -= 1

        def _send(self, status: int, content: Any, headers: dict[str, str]) -> None:
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
