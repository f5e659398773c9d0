"""Lines of a transcript, and spool folders that hold the recordings. No tests."""

import json
from collections.abc import Sequence
from pathlib import Path

from agent_evo_dagster.capture.gather import Gathered, read_sources
from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.files import sha256_bytes

KEY = b"k" * 32
SESSION = "s-1"


def line(type_: str, **fields: object) -> bytes:
    """A line of a transcript."""
    base = {"type": type_, "sessionId": SESSION, "timestamp": "2026-03-01T10:00:00.000Z"}
    return json.dumps(base | fields).encode() + b"\n"


def said(*blocks: dict[str, object], message: str = "m-1", output: int = 5, **fields: object) -> bytes:
    """A line in which the assistant speaks or calls."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": output}
    body = {"id": message, "model": "a-model", "role": "assistant", "usage": usage, "content": list(blocks)}
    return line("assistant", message=body, **fields)


def call(call_id: str, name: str = "Bash", **tool_input: object) -> dict[str, object]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": tool_input}


def result(call_id: str, content: object = "done", *, is_error: bool = False, **fields: object) -> bytes:
    """The line of a call's result."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}
    return line("user", message={"role": "user", "content": [block]}, **fields)


def prompt(text: str, **fields: object) -> bytes:
    """A line in which the user speaks."""
    return line("user", message={"role": "user", "content": text}, **fields)


def slice_of(spool: Path, file: str) -> FileSlice:
    """A whole file of the spool."""
    data = (spool / file).read_bytes()
    return FileSlice(file, 0, len(data), sha256_bytes(data), ())


def put(spool: Path, file: str, data: bytes) -> FileSlice:
    """A file of the spool, written and taken as a whole."""
    path = spool / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return slice_of(spool, file)


def transcript(spool: Path, *lines: bytes) -> FileSlice:
    """The transcript of the session."""
    return put(spool, f"transcripts/{SESSION}/{SESSION}.jsonl", b"".join(lines))


def gathered(spool: Path, slices: Sequence[FileSlice], *, earlier: Sequence[FileSlice] = ()) -> Gathered:
    """What the slices hold; no event is there twice."""
    found = read_sources(spool, slices, key=KEY, earlier=earlier)
    ids = found.events["event_id"]
    assert ids.n_unique() == len(ids)
    return found


def recorded(shared: Path, spool: Path, *, transcripts: bool = True, hooks: bool = True) -> list[FileSlice]:
    """The recordings of the real client as slices of a spool."""
    captured = sorted((shared / "hooks").glob("*.jsonl")) if hooks else []
    slices = [put(spool, f"hooks/{path.name}", path.read_bytes()) for path in captured]
    for path in sorted((shared / "transcripts").rglob("*.jsonl")) if transcripts else ():
        name = path.relative_to(shared / "transcripts").parts[1:]
        session = name[0].removesuffix(".jsonl")
        file = f"transcripts/{session}/{'/'.join(name).removeprefix(session + '/')}"
        slices.append(put(spool, file, path.read_bytes()))
    return slices
