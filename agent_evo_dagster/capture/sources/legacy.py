"""The older layout, `<session>/events.jsonl`, as a source. How an event is read is told in records."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_evo_dagster.capture.names import safe_name
from agent_evo_dagster.capture.sources.hook_records import reading_of_lines
from agent_evo_dagster.capture.sources.protocol import Reading
from agent_evo_dagster.capture.spool_names import LEGACY
from agent_evo_dagster.capture.types import FileSlice

_TYPES = frozenset({"tool_call", "turn_end", "conversation_end"})


class LegacyEvents:
    """Events without agent, prompt or call id, kept as the files that they are."""

    folder = LEGACY

    def recognises(self, records: Sequence[Mapping[str, object]]) -> bool:
        """An event of the layout has one of three types, and a time."""
        return any(record.get("type") in _TYPES and "timestamp" in record for record in records)

    def target(self, path: Path, _records: Sequence[Mapping[str, object]], /) -> str:
        """The folder's name is the session."""
        return f"{LEGACY}/{safe_name(path.parent.name)}/events.jsonl"

    def read(self, spool: Path, slices: Sequence[FileSlice], *, key: bytes) -> Reading:
        """One event a line, or a line in quarantine."""
        return reading_of_lines(spool, slices, key=key)
