"""A file that only grows, each line bound to the one before by its hash. Not what the lines mean.

A line is canonical JSON with `prev`, the hash of the line before, and `hash`, SHA-256 of the line without it.
Bytes after the last newline were never acknowledged: a writer died there. They are moved beside the file by
the next writer. A line that does not fit its neighbours is another matter: it was edited, and nothing is
written or read past it.
"""

import contextlib
import fcntl
import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.files import sha256_bytes

# What a line holds: JSON values.
Entry: TypeAlias = dict[str, object]

GENESIS = "0" * 64  # `prev` of the first line

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Chain:
    """The verified lines of a file, and the torn bytes after them."""

    entries: tuple[Entry, ...]
    whole: int  # bytes of the file that the entries take
    torn: bytes = b""

    @property
    def head(self) -> str:
        """Hash of the last line."""
        return str(self.entries[-1]["hash"]) if self.entries else GENESIS


@dataclass(slots=True)
class Writer:
    """Appends to a locked file; made by `writing`."""

    chain: Chain
    descriptor: int

    def append(self, payload: Mapping[str, object]) -> Entry:
        """Add one line, on the disk before this returns, and give it back with `prev` and `hash`."""
        entry: Entry = {**payload, "prev": self.chain.head}
        entry["hash"] = sha256_bytes(canonical(entry))
        line = canonical(entry) + b"\n"
        written = 0
        while written < len(line):
            written += os.write(self.descriptor, line[written:])
        os.fsync(self.descriptor)
        self.chain = Chain((*self.chain.entries, entry), self.chain.whole + len(line))
        return entry


def canonical(entry: Mapping[str, object]) -> bytes:
    """The one way to write an entry: sorted keys, no spaces, UTF-8."""
    return json.dumps(
        entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def read_chain(path: Path) -> Chain:
    """The lines of `path`, verified, while no writer is at work; a missing file has none.

    Raises:
        DecisionError: a line was changed, removed or put in between.
    """
    try:
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH)
            return _verified(stream.read(), path)
    except FileNotFoundError:
        return Chain((), 0)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """Hold `path` alone, verified and freed of a torn end, to look and append in one step.

    Raises:
        DecisionError: a line was changed, removed or put in between.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        chain = _verified(path.read_bytes(), path)
        if chain.torn:
            _set_aside(path, descriptor, chain)
        if not chain.entries:
            _sync_folder(path.parent)
        yield Writer(Chain(chain.entries, chain.whole), descriptor)
    finally:
        os.close(descriptor)


def append_once(path: Path, payload: Mapping[str, object]) -> Entry:
    """Append `payload` unless a line of `path` says exactly that; gives back the line.

    Raises:
        DecisionError: the file is not whole.
    """
    with writing(path) as writer:
        for entry in reversed(writer.chain.entries):
            if {key: value for key, value in entry.items() if key not in ("prev", "hash")} == payload:
                return entry
        return writer.append(payload)


def _verified(data: bytes, path: Path) -> Chain:
    *lines, torn = data.split(b"\n")
    entries: list[Entry] = []
    head = GENESIS
    for number, line in enumerate(lines, start=1):
        entry = _entry(line, head)
        if isinstance(entry, str):
            raise DecisionError(
                f"Record {number} of {path} breaks the chain: {entry}. The file is only ever appended to; "
                f"restore it from version control or a backup, then decide again what is missing."
            )
        entries.append(entry)
        head = str(entry["hash"])
    return Chain(tuple(entries), len(data) - len(torn), torn)


def _entry(line: bytes, head: str) -> Entry | str:
    """The entry of a line that follows `head`, or what is wrong with it."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return "it is not JSON"
    if not isinstance(entry, dict) or not isinstance(entry.get("hash"), str):
        return "it has no hash"
    claimed = entry["hash"]
    try:
        rest = canonical({key: value for key, value in entry.items() if key != "hash"})
        same = canonical(entry) == line
    except (ValueError, RecursionError):
        return "it holds values that no record has"
    if not same or sha256_bytes(rest) != claimed:
        return "its content does not have the hash that it names"
    if entry.get("prev") != head:
        return f"it follows {str(entry.get('prev'))[:12]}, the record before it is {head[:12]}"
    return entry


def _set_aside(path: Path, descriptor: int, chain: Chain) -> None:
    """Move the torn end to `<name>.torn`, kept before it is cut off."""
    aside = path.with_suffix(".torn")
    with aside.open("ab") as stream:
        stream.write(chain.torn + b"\n")
        stream.flush()
        os.fsync(stream.fileno())
    os.ftruncate(descriptor, chain.whole)
    os.fsync(descriptor)
    _log.warning(
        "%s ended in %d bytes of a record that was never finished; they were moved to %s",
        path,
        len(chain.torn),
        aside,
    )


def _sync_folder(folder: Path) -> None:
    """Make a new file's name survive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
