"""Logs of one JSON object a line: those of this project's trainer, and of verl's file logger."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.analysis.run_logs.types import LogBook, MetricLog

_LOOKED_AT = 65_536  # bytes of the beginning


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Lines `{"step": 3, "<key>": {"<metric>": 0.5}}`."""

    name: str
    key: str

    def recognises(self, path: Path) -> bool:
        """Whether the first object that is whole has a step and metrics under the key."""
        with path.open("rb") as stream:
            lines = stream.read(_LOOKED_AT).split(b"\n")
        found = next((record for line in lines if (record := _record(line)) is not None), {})
        return isinstance(found.get(self.key), dict) and "step" in found

    def read(self, path: Path) -> MetricLog:
        """The whole file; lines that are no such object are counted."""
        book = LogBook()
        for record in _records(path, book):
            values, step = record.get(self.key), book.step(record.get("step"))
            if step is None:
                continue
            if not isinstance(values, dict):
                book.broken["no metrics"] += 1
                continue
            for name, value in values.items():
                book.value(step, str(name), value)
        return book.log(self.name)


def _records(path: Path, book: LogBook) -> Iterator[dict[str, object]]:
    with path.open("rb") as stream:
        for line in stream:
            if not line.strip():
                continue
            record = _record(line)
            if record is None:
                book.broken["no JSON object" if line.endswith(b"\n") else "cut off"] += 1
            else:
                yield record


def _record(line: bytes) -> dict[str, object] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
