"""Spool records, the stdin of Claude Code hooks, as a source. How a record is read is told in records."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_evo_dagster.capture.read import read_slices
from agent_evo_dagster.capture.sources.protocol import Reading
from agent_evo_dagster.capture.spool_names import HOOKS
from agent_evo_dagster.capture.types import FileSlice


class HookRecords:
    """Lines of `{"captured_at": ..., "hook": {...}}`, one file a session."""

    folder = HOOKS

    def recognises(self, records: Sequence[Mapping[str, object]]) -> bool:
        """A record holds what a hook received."""
        return any(isinstance(record.get("hook"), dict) for record in records)

    def target(self, path: Path, records: Sequence[Mapping[str, object]], /) -> None:
        """Recordings may mix sessions: their lines are sorted."""

    def read(self, spool: Path, slices: Sequence[FileSlice], *, key: bytes) -> Reading:
        """One event a line, or a line in quarantine."""
        return reading_of_lines(spool, slices, key=key)


def reading_of_lines(spool: Path, slices: Sequence[FileSlice], *, key: bytes) -> Reading:
    """Slices whose lines are one event each."""
    result = read_slices(spool, slices, key=key)
    return Reading(result.events, result.quarantine, result.lines)
