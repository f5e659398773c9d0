"""A headless Chromium driven through its debugging protocol: open a page, wait for text, click, look."""

import base64
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
PATIENCE = 120.0  # seconds; a page of Dagster is a program that loads first
# The innermost visible element whose own text is the one given.
_FIND = """
[...document.querySelectorAll('a,button,span,div,label,input,td')]
  .filter(e => e.innerText?.trim() === %s && e.offsetParent !== null).at(-1)
"""


class Page:
    """One tab."""

    def __init__(self, connection: ClientConnection, session: str) -> None:
        self._connection, self._session, self._count = connection, session, 0

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """One command of the protocol and its answer."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        self._connection.send(
            json.dumps({**message, "sessionId": self._session} if self._session else message)
        )
        while True:
            answer = json.loads(self._connection.recv(timeout=PATIENCE))
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def open(self, url: str, *, until: str) -> str:
        """Go to a page and wait for a text in it; returns all its text."""
        self.call("Page.navigate", url=url)
        return self.wait(until)

    def wait(self, text: str) -> str:
        """All text of the page once `text` is in it."""
        deadline = time.monotonic() + PATIENCE
        found = ""
        while time.monotonic() < deadline:
            found = self.evaluate("document.body ? document.body.innerText : ''") or ""
            if text in found:
                return str(found)
            time.sleep(0.25)
        raise AssertionError(f"{text!r} did not appear in {PATIENCE:g} s; the page says:\n{found[:3000]}")

    def click(self, text: str) -> None:
        """Click on the element that says `text`."""
        deadline = time.monotonic() + PATIENCE
        while not self.evaluate(f"(e => e && (e.click(), true))({_FIND % json.dumps(text)}) || false"):
            assert time.monotonic() < deadline, f"nothing to click says {text!r}"
            time.sleep(0.25)

    def screenshot(self, path: Path, *, settle: float = 1.5) -> Path:
        """A picture of what is seen, after animations came to rest."""
        time.sleep(settle)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
        return path


@contextmanager
def browser(chromium: str, profile: Path, *, width: int = 1600, height: int = 1100) -> Iterator[Page]:
    """A new browser with one tab."""
    command = [
        chromium,
        *FLAGS,
        f"--user-data-dir={profile}",
        f"--window-size={width},{height}",
        "about:blank",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port, path = _endpoint(profile / "DevToolsActivePort", process)
        with connect(f"ws://127.0.0.1:{port}{path}", max_size=None, open_timeout=PATIENCE) as connection:
            whole = Page(connection, "")
            targets = whole.call("Target.getTargets")["targetInfos"]
            target = next(item["targetId"] for item in targets if item["type"] == "page")
            attached = whole.call("Target.attachToTarget", targetId=target, flatten=True)
            page = Page(connection, attached["sessionId"])
            page.call("Page.enable")
            yield page
    finally:
        process.kill()
        process.wait()


def _endpoint(file: Path, process: subprocess.Popen[bytes]) -> tuple[str, str]:
    deadline = time.monotonic() + PATIENCE
    while not (file.is_file() and len(file.read_text().split()) == 2):
        assert process.poll() is None, "Chromium ended before it could be driven"
        assert time.monotonic() < deadline, "Chromium did not open its debugging port"
        time.sleep(0.1)
    port, path = file.read_text().split()
    return port, path
