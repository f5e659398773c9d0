"""Transcripts copied into the spool before the client deletes them. Not what they hold.

A hook record says where its session's transcript lies. Session text is hostile and so may a record be: only a
regular file that bears the session's own name is copied, and those of its subagents beside it.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from agent_evo_dagster.capture.fields import dump, parse
from agent_evo_dagster.capture.names import safe_name
from agent_evo_dagster.capture.read import contained
from agent_evo_dagster.capture.sources.transcripts import FOLDER, TYPE_NOTE, target_of
from agent_evo_dagster.capture.spool_names import HOOKS
from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.files import write_atomic

MOST_BYTES = 1 << 30  # of one transcript; a longer one is left where it is
_MOST_OF_NOTE = 64 << 10  # bytes of what the client notes of a subagent
DELETED_AFTER = timedelta(days=30)  # by the client
WARN_AFTER = timedelta(days=20)


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of one transcript."""

    target: str  # relative to the spool
    added: bytes  # what the spool did not hold
    known: int  # lines that it held
    problem: str | None = None  # why it was not copied


def copy_transcripts(spool: Path, slices: Iterable[FileSlice]) -> list[Copied]:
    """Copy the transcripts of the sessions in `slices` of hook files, with those of their subagents."""
    return [
        keep(file, spool, target_of(session, file))
        for session, path in sorted(_transcripts(spool, slices).items())
        for file in [path, *_subagents(path)]
        if is_transcript(file) and not _is_kept(file, spool / target_of(session, file))
    ]


def of_late(spool: Path, taken: Iterable[FileSlice], now: datetime) -> list[FileSlice]:
    """The slices of `taken` whose sessions the client may still have transcripts of, or write to."""
    limit = (now - DELETED_AFTER).timestamp()
    return [
        part
        for part in taken
        if part.file.startswith(f"{HOOKS}/")
        and (path := contained(spool, part.file)).exists()
        and path.stat().st_mtime > limit
    ]


def keep(source: Path, spool: Path, target: str) -> Copied:
    """Keep a file as it is; a longer version of one that is there takes its place."""
    path = spool / target
    status = source.stat()
    if status.st_size > MOST_BYTES:
        return Copied(target, b"", 0, f"has {status.st_size} bytes; at most {MOST_BYTES} are taken")
    _keep_type(source, path)
    data = source.read_bytes()
    present = path.read_bytes() if path.exists() else b""
    if present and present.startswith(data):
        return Copied(target, b"", data.count(b"\n"))
    if not data.startswith(present):
        return Copied(target, b"", 0, f"differs from {path}, which the spool holds for this session")
    write_atomic(path, data, mode=0o600)  # not redacted yet
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return Copied(target, data[len(present) :], present.count(b"\n"))


def _keep_type(source: Path, copy: Path) -> None:
    """Keep beside a subagent's transcript the type that the client notes beside its own.

    The client writes its note anew as the agent goes on; what is kept is one line that never changes.
    """
    note, kept = source.with_name(f"{source.stem}.meta.json"), copy.with_name(f"{copy.stem}{TYPE_NOTE}")
    if not source.stem.startswith("agent-") or kept.exists() or not _is_regular(note):
        return
    try:
        told = parse(note.read_bytes()) if note.stat().st_size <= _MOST_OF_NOTE else None
    except ValueError:
        return
    name = told.get("agentType") if isinstance(told, dict) else None
    if isinstance(name, str):
        line = {"type": "agent-type", "agentId": source.stem.removeprefix("agent-"), "agentType": name}
        write_atomic(kept, f"{dump(line)}\n".encode(), mode=0o600)
        status = source.stat()
        os.utime(kept, ns=(status.st_atime_ns, status.st_mtime_ns))  # as quiet as its transcript


def _is_kept(source: Path, copy: Path) -> bool:
    """Whether a file was copied and has not changed since."""
    if not copy.exists():
        return False
    there, here = source.stat(), copy.stat()
    return (there.st_size, there.st_mtime_ns) == (here.st_size, here.st_mtime_ns)


def is_transcript(path: Path) -> bool:
    """Whether this is a regular *.jsonl file, itself and not by a link."""
    return path.suffix == ".jsonl" and _is_regular(path)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def uncopied(spool: Path, now: datetime) -> list[Path]:
    """Transcripts that the client will delete soon and that the spool does not hold, oldest first."""
    found = []
    limit = (now - WARN_AFTER).timestamp()
    for path in sorted((spool / HOOKS).glob("*.jsonl")):
        if path.stat().st_mtime > limit:
            continue
        whole = FileSlice(path.relative_to(spool).as_posix(), 0, path.stat().st_size, "", ())
        for session, transcript in _transcripts(spool, [whole]).items():
            name = safe_name(session)
            if not (spool / FOLDER / name / f"{name}.jsonl").exists() and is_transcript(transcript):
                found.append(transcript)
    return sorted(found, key=lambda path: (path.stat().st_mtime, path))


def _transcripts(spool: Path, slices: Iterable[FileSlice]) -> dict[str, Path]:
    """Where each session's transcript lies, as its first record says; one that says it wrongly is left."""
    found: dict[str, Path] = {}
    for part in slices:
        wanted = set(part.sessions)
        for line in _lines(contained(spool, part.file), part.start, part.end):
            session, path = _said(line)
            if session is not None and path is not None and session not in found:
                found[session] = path
                wanted.discard(session)
                if part.sessions and not wanted:
                    break
    return found


def _lines(path: Path, start: int, end: int) -> Iterator[bytes]:
    with path.open("rb") as stream:
        stream.seek(start)
        while stream.tell() < end and (line := stream.readline()):
            yield line


def _said(line: bytes) -> tuple[str | None, Path | None]:
    """Session and transcript that a hook record names, where the file bears the session's name."""
    try:
        record = parse(line)
    except ValueError:
        return None, None
    hook = record.get("hook") if isinstance(record, dict) else None
    if not isinstance(hook, dict):
        return None, None
    session, path = hook.get("session_id"), hook.get("transcript_path")
    if not isinstance(session, str) or not isinstance(path, str) or safe_name(session) != session:
        return None, None
    there = Path(path)
    is_own = there.is_absolute() and ".." not in there.parts and there.name == f"{session}.jsonl"
    return (session, there) if is_own else (None, None)


def _subagents(transcript: Path) -> list[Path]:
    folder = transcript.with_suffix("") / "subagents"
    return [] if folder.is_symlink() else sorted(folder.glob("agent-*.jsonl"))
