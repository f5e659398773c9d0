"""A spool to fill, its lines, and what is read from it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent_evo_dagster.capture.read import ReadResult, read_slices
from agent_evo_dagster.capture.slices import available_slices

KEY = b"k" * 32
T0 = 1_740_000_000_000_000_000


def record(n: int = 0, /, at: object = None, **fields: object) -> bytes:
    """A spool record, `n` seconds after the first."""
    hook = {
        "session_id": "s-1",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": f"t{n}",
    }
    line = {"captured_at": T0 + n * 10**9 if at is None else at, "hook": hook | fields}
    return json.dumps(line, separators=(",", ":")).encode()


def legacy(n: int = 0, /, **fields: object) -> bytes:
    """An event of the older layout."""
    base = {"type": "tool_call", "session_id": "old", "conversation_id": "old", "layer": "rllm"}
    moment = datetime(2026, 5, 1, tzinfo=UTC) + timedelta(seconds=n)
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": ""}}
    return json.dumps(base | {"timestamp": moment.isoformat()} | call | fields).encode()


class Spool:
    """A spool on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, data: bytes, name: str = "hooks/s-1.jsonl") -> Path:
        """Append to a file of the spool."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as stream:
            stream.write(data)
        return path

    def read(self) -> ReadResult:
        """Everything in it; the law of accounting is checked each time."""
        slices = available_slices(
            self.path, [], now=datetime.now(UTC) + timedelta(days=1), quiet=timedelta(), include_open=True
        )
        result = read_slices(self.path, slices, key=KEY)
        assert result.lines + result.recovered == result.events.height + result.quarantine.height
        return result
