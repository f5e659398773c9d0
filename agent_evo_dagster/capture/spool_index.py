"""What was learnt of each event file when it was last looked at, so that an unchanged one is not read again.

A cache: an entry holds for the size and time of change that it was made at. Not what a round takes.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import msgspec

from agent_evo_dagster.files import write_atomic

INDEX_FILE = "_index.json"  # of the spool: it holds session ids as they are


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The whole lines of a file from `start` on."""

    size: int
    modified: int  # ns
    start: int
    end: int
    lines: int
    sha256: str
    last_at: int | None  # ns; the latest time in its records
    open_sessions: dict[str, bool]  # session -> it has not ended


@dataclass(slots=True)
class SpoolIndex:
    """Entries by file name."""

    path: Path | None  # None: nothing is remembered
    entries: dict[str, Entry] = field(default_factory=dict)
    _seen: dict[str, Entry] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | None) -> Self:
        """The index at `path`; an empty one where it is missing or was damaged: it is made again."""
        try:
            return cls(path, msgspec.json.decode(path.read_bytes(), type=dict[str, Entry]) if path else {})
        except (FileNotFoundError, msgspec.MsgspecError):
            return cls(path)

    def find(self, name: str, *, size: int, modified: int, start: int) -> Entry | None:
        """What is known of a file, if it is still as it was."""
        entry = self.entries.get(name)
        if entry is None or (entry.size, entry.modified, entry.start) != (size, modified, start):
            return None
        self._seen[name] = entry
        return entry

    def keep(self, name: str, entry: Entry) -> None:
        """Remember what was learnt of a file."""
        self._seen[name] = entry

    def save(self) -> None:
        """Write what was found or learnt since the load, if that is news."""
        if self.path is not None and self._seen != self.entries:
            write_atomic(self.path, msgspec.json.encode(self._seen), mode=0o600)
