"""What a round may take beside hook records: transcripts of its sessions, whole documents. Not content."""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from agent_evo_dagster.capture.fields import parse
from agent_evo_dagster.capture.names import safe_name
from agent_evo_dagster.capture.redact import holds_secret
from agent_evo_dagster.capture.slices import HOOKS, LEGACY
from agent_evo_dagster.capture.sources.atif import FOLDER as DOCUMENTS
from agent_evo_dagster.capture.sources.transcripts import FOLDER
from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.files import sha256_bytes

_SNIFFED_LINES = 50


def transcript_slices(
    spool: Path,
    captured: Sequence[FileSlice],
    taken: Sequence[FileSlice],
    *,
    now: datetime,
    quiet: timedelta,
    include_open: bool,
) -> list[FileSlice]:
    """What can be read of each transcript beyond what `taken` covers, in the order of names.

    A transcript goes with its session: it is taken when `captured` takes from the session. One of a session
    that no hook captured is taken by itself, once it was quiet for `quiet`. A last line without a break is
    left, and so is a file whose name holds a secret: what is stored of a file has its name.
    """
    now_captured = {safe_name(session) for part in captured for session in part.sessions}
    ever = now_captured | _captured_names(spool)
    covered: dict[str, int] = {}
    for part in taken:
        covered[part.file] = max(covered.get(part.file, 0), part.end)
    slices = []
    for folder in sorted((spool / FOLDER).glob("*")):
        files = list(_files(folder))
        is_ready = include_open or all(path.stat().st_mtime <= (now - quiet).timestamp() for path in files)
        if folder.name in now_captured or (folder.name not in ever and is_ready):
            for path in files:
                name = path.relative_to(spool).as_posix()
                if holds_secret(name):
                    continue
                rest = _beyond(path, name, covered.get(name, 0), folder.name)
                slices += [rest] if rest is not None else []
    return slices


def document_slices(spool: Path, taken: Sequence[FileSlice]) -> list[FileSlice]:
    """The documents that no round took, each as a whole, in the order of names."""
    known = {part.file for part in taken}
    slices = []
    for path in sorted((spool / DOCUMENTS).glob("*/*.json")):
        name = path.relative_to(spool).as_posix()
        if name not in known and not holds_secret(name):
            data = path.read_bytes()
            slices.append(FileSlice(name, 0, len(data), sha256_bytes(data), (path.parent.name,)))
    return slices


def _captured_names(spool: Path) -> set[str]:
    """Names of the sessions that hooks, or files of the older layout, captured."""
    hooks = {path.stem for path in (spool / HOOKS).glob("*.jsonl")}
    return hooks | {path.name for path in (spool / LEGACY).glob("*")}


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("*.jsonl"))
    yield from sorted((folder / "subagents").glob("*.jsonl"))


def _beyond(path: Path, name: str, start: int, session_name: str) -> FileSlice | None:
    """The whole lines of a file from `start` on; of one that is shorter than that, nothing."""
    digest, end, session = hashlib.sha256(), start, None
    with path.open("rb") as stream:
        stream.seek(start)
        for number, line in enumerate(stream):
            if not line.endswith(b"\n"):
                break
            digest.update(line)
            end += len(line)
            if session is None and number < _SNIFFED_LINES:
                session = _session(line)
    return (
        FileSlice(name, start, end, digest.hexdigest(), (session or session_name,)) if end > start else None
    )


def _session(line: bytes) -> str | None:
    try:
        record = parse(line)
    except ValueError:
        return None
    session = record.get("sessionId") if isinstance(record, dict) else None
    return session if isinstance(session, str) else None
