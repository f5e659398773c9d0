"""What a round may take from the spool: finished sessions that no earlier round took. Not their content."""

import errno
import hashlib
import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from agent_evo_dagster.capture.fields import FieldError, at_of, parse
from agent_evo_dagster.capture.spool_index import Entry, SpoolIndex
from agent_evo_dagster.capture.spool_names import LEGACY, event_names, storable
from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.files import sha256_bytes

_OPENING = frozenset({"SessionStart", "UserPromptSubmit"})


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at the event files of a spool found."""

    slices: list[FileSlice]  # in the order of file names
    unreadable: Mapping[str, str]  # file -> why it was passed over


def look(
    spool: Path,
    taken: Sequence[FileSlice],
    *,
    now: datetime,
    quiet: timedelta,
    include_open: bool,
    index: Path | None = None,
) -> Look:
    """What can be read of each file beyond what `taken` covers.

    A file is ready when each session in it has ended (SessionEnd, and nothing begun after it), or when it was
    quiet for `quiet`; `include_open` takes the others too. A last line that is still being written is never
    taken. A file that is shorter than what was last taken of it, or has other bytes there, is another file:
    it is taken from its start. `taken` is in the order of rounds. A file that cannot be read, or whose name
    cannot be stored, keeps no other back. `index` is where to remember what was learnt of each file.
    """
    latest = {part.file: part for part in taken}
    known = SpoolIndex.load(index)
    limit = (now - quiet).timestamp()
    names, unreadable = storable(event_names(spool))
    slices = []
    for name in names:
        try:
            ready = _slice_of(spool, name, latest.get(name), known, limit=limit, include_open=include_open)
        except OSError as error:
            unreadable[name] = error.strerror or type(error).__name__
            continue
        if ready is not None:
            slices.append(ready)
    known.save()
    return Look(slices, unreadable)


def available_slices(
    spool: Path,
    taken: Sequence[FileSlice],
    *,
    now: datetime,
    quiet: timedelta,
    include_open: bool,
    index: Path | None = None,
) -> list[FileSlice]:
    """The slices of a `look`."""
    return look(spool, taken, now=now, quiet=quiet, include_open=include_open, index=index).slices


def _start(
    path: str, name: str, status: os.stat_result, last: FileSlice | None, known: SpoolIndex
) -> int | None:
    """Where the new bytes of a file begin; None where it has none."""
    if last is None:
        return 0
    size, modified = status.st_size, status.st_mtime_ns
    if size == last.end:
        entry = known.find(name, size=size, modified=modified, start=last.start)
        if entry is not None and entry.sha256 == last.sha256:
            return None  # not changed since it was taken
    if size < last.end or not _continues(Path(path), last):
        return 0
    if size > last.end:
        return last.end
    if known.path is not None:
        entry = _scanned(Path(path), last.start, status, limit=-math.inf)
        if entry.end == size:
            known.keep(name, entry)
    return None


def _continues(path: Path, last: FileSlice) -> bool:
    """Whether the file still holds the bytes that were taken of it last."""
    with path.open("rb") as stream:
        stream.seek(last.start)
        return sha256_bytes(stream.read(last.end - last.start)) == last.sha256


def spool_files(spool: Path) -> Iterator[Path]:
    """The event files of a spool: those of the hooks, then those of the older layout."""
    return (spool / name for name in storable(event_names(spool))[0])


@dataclass(slots=True)
class _Scan:
    """What one pass over the new lines of a file tells."""

    open_sessions: dict[str, bool] = field(default_factory=dict)  # session -> it has not ended
    last_at: int | None = None
    lines: int = 0
    end: int = 0  # after the last whole line
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    tail: bytes = b""  # the last line, if it has no break

    def add(self, line: bytes) -> None:
        """Take in one line of the file."""
        if not line.endswith(b"\n"):
            self.tail = line
            return
        self.end += len(line)
        self.digest.update(line)
        self.note(line)

    def note(self, line: bytes) -> None:
        """Learn the session, its state and the time from a line; a broken one tells nothing."""
        if line.isspace():
            return
        self.lines += 1
        try:
            record = parse(line)
        except ValueError:
            return
        if not isinstance(record, dict):
            return
        hook = record.get("hook")
        fields = hook if isinstance(hook, dict) else record
        session, kind = str(fields.get("session_id")), fields.get("hook_event_name")
        if kind == "SessionEnd":
            self.open_sessions[session] = False
        elif kind in _OPENING or session not in self.open_sessions:
            self.open_sessions[session] = True
        try:
            at = at_of(record.get("captured_at") or record.get("timestamp"))
        except FieldError:
            return
        self.last_at = at if self.last_at is None else max(at, self.last_at)


def _slice_of(
    spool: Path, name: str, last: FileSlice | None, known: SpoolIndex, *, limit: float, include_open: bool
) -> FileSlice | None:
    """What a round may take of one file; `limit` is when it must have changed last to be quiet."""
    path = f"{spool}/{name}"
    status = os.stat(path)  # noqa: PTH116 see event_names
    if not stat.S_ISREG(status.st_mode):  # to open a pipe would wait for a writer
        is_folder = stat.S_ISDIR(status.st_mode)
        raise OSError(errno.EISDIR, "Is a directory" if is_folder else "Is no regular file")
    start = _start(path, name, status, last, known)
    if start is None:
        return None
    modified = status.st_mtime
    entry = known.find(name, size=status.st_size, modified=status.st_mtime_ns, start=start)
    if entry is None:
        # Files of the older layout are put into the spool as a whole; others may have a line in the making.
        entry = _scanned(Path(path), start, status, limit=math.inf if name.startswith(LEGACY) else limit)
        if entry.end == entry.size:
            known.keep(name, entry)
    # A copied file is younger than what it holds: the records tell when it was last written.
    recorded = modified if entry.last_at is None else min(modified, entry.last_at / 1e9)
    ended = bool(entry.open_sessions) and not any(entry.open_sessions.values())
    if not entry.lines or not (ended or recorded <= limit or include_open):
        return None
    if not os.access(path, os.R_OK):
        raise PermissionError(errno.EACCES, "Permission denied")  # what is known of it could not be read now
    return FileSlice(name, start, entry.end, entry.sha256, tuple(sorted(entry.open_sessions)))


def _scanned(path: Path, start: int, status: os.stat_result, *, limit: float) -> Entry:
    """What a file holds from `start` on; its last line without a break if it was written before `limit`."""
    scan = _Scan(end=start)
    with path.open("rb") as stream:
        stream.seek(start)
        for line in stream:
            scan.add(line)
            if scan.tail:
                break  # its rest may be written now: what comes after it would be taken for a line
        modified = os.fstat(stream.fileno()).st_mtime
    if scan.tail and modified <= limit:
        scan.end += len(scan.tail)
        scan.digest.update(scan.tail)
        scan.note(scan.tail)
    return Entry(
        status.st_size,
        status.st_mtime_ns,
        start,
        scan.end,
        scan.lines,
        scan.digest.hexdigest(),
        scan.last_at,
        scan.open_sessions,
    )
