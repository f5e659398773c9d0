"""What a round may take beside hook records: transcripts of its sessions, whole documents. Not content."""

import hashlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath

from agent_evo_dagster.capture.fields import at_of, parse
from agent_evo_dagster.capture.names import safe_name
from agent_evo_dagster.capture.sources.atif import FOLDER as DOCUMENTS
from agent_evo_dagster.capture.sources.transcripts import FOLDER
from agent_evo_dagster.capture.spool_names import HOOKS, LEGACY, is_storable, listed
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
    of which nothing is captured that no round took comes by itself, once it was quiet for `quiet`: no hook
    saw the session, or its transcript came late. Of an imported one, which is younger than what it tells
    of, the time of its last event counts. A last line without a break is left, and so is a file whose name
    cannot be stored: what is stored of a file has its name.
    """
    now_captured = {safe_name(session) for part in captured for session in part.sessions}
    covered = {part.file: part.end for part in taken}
    limit = (now - quiet).timestamp()
    slices = []
    for session in sorted(listed(spool / FOLDER)):
        grown = _grown(spool, session, covered)
        if not grown:
            continue
        if session in now_captured or (
            _is_taken(spool, session, covered) and (include_open or _is_quiet(spool, grown, covered, limit))
        ):
            names = filter(is_storable, grown)
            rests = (_beyond(spool, name, covered.get(name, 0), session) for name in names)
            slices += [rest for rest in rests if rest is not None]
    return slices


def earlier_slices(spool: Path, new: Sequence[FileSlice], taken: Sequence[FileSlice]) -> list[FileSlice]:
    """What earlier rounds took of the sessions of which `new` holds transcripts, as far as it is still there.

    It tells what of a transcript is news; nothing of it counts again.
    """
    parts = (PurePosixPath(part.file).parts for part in new)
    late = {session for folder, session, *_ in parts if folder == FOLDER}
    return [part for part in taken if _sessions_of(part) & late and _holds(spool, part)] if late else []


def document_slices(spool: Path, taken: Sequence[FileSlice]) -> list[FileSlice]:
    """The documents that no round took, each as a whole, in the order of names."""
    known = {part.file for part in taken}
    slices = []
    for path in sorted((spool / DOCUMENTS).glob("*/*.json")):
        name = path.relative_to(spool).as_posix()
        if name not in known and is_storable(name):
            data = path.read_bytes()
            slices.append(FileSlice(name, 0, len(data), sha256_bytes(data), (path.parent.name,)))
    return slices


def _grown(spool: Path, session: str, covered: Mapping[str, int]) -> dict[str, float]:
    """When each file of a session's transcript that holds more than is covered was last changed."""
    found = {}
    for name in _files(spool, session):
        try:
            status = os.stat(f"{spool}/{name}")  # noqa: PTH116 no paths: there may be ten thousand
        except (FileNotFoundError, NotADirectoryError):
            continue
        if status.st_size > covered.get(name, 0):
            found[name] = status.st_mtime
    return found


def _is_quiet(spool: Path, grown: Mapping[str, float], covered: Mapping[str, int], limit: float) -> bool:
    """Whether the grown files were changed last before `limit`, or all that the younger ones tell of was."""
    young = [name for name, changed in grown.items() if changed > limit]
    told = [_last_event(spool, name, covered.get(name, 0)) for name in young]
    times = [at for at in told if at is not None]  # the note on a subagent tells none
    return not young or (bool(times) and max(times) <= limit)


def _last_event(spool: Path, name: str, start: int) -> float | None:
    """When the newest record of a file from `start` on was made, in seconds; None where none tells.

    Infinite where its last line is in the making.
    """
    times = []
    with (spool / name).open("rb") as stream:
        stream.seek(start)
        for line in stream:
            if not line.endswith(b"\n"):
                return math.inf
            try:
                record = parse(line)
                times += [at_of(record.get("timestamp"))] if isinstance(record, dict) else []
            except ValueError:  # a broken line, or a time that is none
                continue
    return max(times) / 1e9 if times else None


def _files(spool: Path, session: str) -> Iterator[str]:
    """Names that the parts of a session's transcript have, its own first."""
    folder = f"{FOLDER}/{session}"
    yield f"{folder}/{session}.jsonl"
    subagents = f"{folder}/subagents"
    if os.access(f"{spool}/{subagents}", os.R_OK):
        names = sorted(listed(f"{spool}/{subagents}"))
        yield from (f"{subagents}/{name}" for name in names if name.endswith(".jsonl"))


def _is_taken(spool: Path, session: str, covered: Mapping[str, int]) -> bool:
    """Whether rounds took all that was captured of a session."""
    for name in (f"{HOOKS}/{session}.jsonl", f"{LEGACY}/{session}/events.jsonl"):
        path = spool / name
        if path.exists() and covered.get(name, -1) < path.stat().st_size:
            return False
    return True


def _sessions_of(part: FileSlice) -> set[str]:
    """The names of the sessions that a slice holds; of a document, none: it stands for itself."""
    folder, name = PurePosixPath(part.file).parts[:2]
    if folder == DOCUMENTS:
        return set()
    return {name.removesuffix(".jsonl"), *map(safe_name, part.sessions)}


def _holds(spool: Path, part: FileSlice) -> bool:
    """Whether a file still holds the bytes that were taken of it."""
    try:
        with (spool / part.file).open("rb") as stream:
            stream.seek(part.start)
            return sha256_bytes(stream.read(part.end - part.start)) == part.sha256
    except OSError:
        return False


def _beyond(spool: Path, name: str, start: int, session_name: str) -> FileSlice | None:
    """The whole lines of a file from `start` on; of one that is shorter than that, nothing."""
    digest, end, session = hashlib.sha256(), start, None
    with (spool / name).open("rb") as stream:
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
