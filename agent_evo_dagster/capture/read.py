"""Slices of spool files become events; every line that is none is accounted for. Not which slices to take."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import polars as pl

from agent_evo_dagster.capture.fields import FieldError, dump, is_utf8, parse
from agent_evo_dagster.capture.frames import event_frame, with_layers
from agent_evo_dagster.capture.lines import BOM, Line, salvage, split
from agent_evo_dagster.capture.quarantine import quarantine_row
from agent_evo_dagster.capture.quick import quick_event
from agent_evo_dagster.capture.records import OpenCalls, Place, event_of, identity
from agent_evo_dagster.capture.redact import redact_value, rules_of
from agent_evo_dagster.capture.screen import Screen, screen_of
from agent_evo_dagster.capture.secret_rules import Rule
from agent_evo_dagster.capture.types import QUARANTINE_SCHEMA, Event, FileSlice
from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.files import sha256_bytes


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What slices hold. `lines + recovered == events.height + quarantine.height`, always."""

    events: pl.DataFrame  # EVENT_SCHEMA, redacted, in the order of the slices
    quarantine: pl.DataFrame  # QUARANTINE_SCHEMA
    lines: int  # lines that are not empty
    recovered: int  # rows beyond one a line, from lines that held more than one record or a record and a rest


def read_slices(spool: Path, slices: Sequence[FileSlice], *, key: bytes) -> ReadResult:
    """Read events; `key` is the redaction key of the home.

    Raises:
        CaptureError: a file no longer holds the bytes that its slice names.
    """
    reader = _Reader(key, screen_of(rules_of(key)))
    for part in slices:
        reader.take(part, verified_bytes(spool, part))
    return reader.result()


def verified_bytes(spool: Path, part: FileSlice) -> bytes:
    """The bytes of a slice.

    Raises:
        CaptureError: the file no longer holds them.
    """
    path = contained(spool, part.file)
    try:
        with path.open("rb") as stream:
            stream.seek(part.start)
            data = stream.read(part.end - part.start)
    except FileNotFoundError as error:
        raise CaptureError(
            f"The round reads bytes {part.start} to {part.end} of {path}, which is gone. Restore the file: "
            "the spool is the only copy of what was captured."
        ) from error
    if len(data) != part.end - part.start or sha256_bytes(data) != part.sha256:
        raise CaptureError(
            f"The round reads bytes {part.start} to {part.end} of {path}, and those bytes have changed since "
            f"it was opened (the file now has {path.stat().st_size} bytes). Spool files may only grow: "
            "restore the file, or open a new round."
        )
    return data


def contained(spool: Path, file: str) -> Path:
    """The path of a spool file.

    Raises:
        CaptureError: it would lie outside of the spool.
    """
    relative = PurePosixPath(file)
    if relative.is_absolute() or ".." in relative.parts or "\0" in file:
        raise CaptureError(f"A slice names the file {file!r}, which is not inside the spool {spool}.")
    return spool / relative


@dataclass(slots=True)
class _Reader:
    """The rows read so far."""

    key: bytes
    screen: Screen
    events: list[Event] = field(default_factory=list)
    quarantine: list[dict[str, object]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    calls: OpenCalls = field(default_factory=OpenCalls)
    lines: int = 0

    def take(self, part: FileSlice, data: bytes) -> None:
        """Read the lines of a slice."""
        lines = split(data, part.start)
        self.lines += len(lines)
        looks = self.screen.closer_looks([line.content for line in lines])
        is_text = is_utf8(data)
        for number, line in enumerate(lines):
            is_plain = number not in looks and (is_text or is_utf8(line.content))
            if not is_plain or not self._take_quickly(part.file, line):
                self._take_line(part.file, _stem(part.file), line, looks.get(number, ()))

    def _take_quickly(self, file: str, line: Line) -> bool:
        content = line.content.strip()
        event_id = identity(content)
        if event_id in self.seen:
            return False
        event = quick_event(content, Place(file, line.offset, "", event_id))
        if event is None:
            return False
        self.seen.add(event_id)
        self.events.append(event)
        return True

    def _take_line(self, file: str, stem: str, line: Line, rules: Sequence[Rule]) -> None:
        try:
            record = parse(line.content)
        except ValueError as error:
            self._take_broken(file, stem, line, str(error))
        else:
            self._take_record(file, stem, line, record, rules)

    def _take_record(self, file: str, stem: str, line: Line, record: object, rules: Sequence[Rule]) -> None:
        content = line.content.strip()
        try:
            redacted = redact_value(record, self.key, rules) if rules else record
            if redacted is not record:
                content = dump(redacted).encode()
            event_id = identity(content)
            if event_id in self.seen:
                raise FieldError(f"it repeats the event {event_id}")
            event = event_of(redacted, Place(file, line.offset, stem, event_id), self.calls)
        except FieldError as error:
            self._set_aside(file, line, str(error))
        except RecursionError:
            self._set_aside(file, line, "it is nested too deeply")
        else:
            self.seen.add(event_id)
            self.events.append(event)

    def _take_broken(self, file: str, stem: str, line: Line, problem: str) -> None:
        saved, rest = salvage(line)
        for part in saved:
            self._take_record(file, stem, Line(part.offset, part.content), part.record, rules_of(self.key))
        if rest or not saved:
            what = "it begins with a byte order mark" if rest == BOM else f"it is not JSON: {problem}"
            left = f" ({len(saved)} whole records in it were recovered)" if saved else ""
            self._set_aside(file, Line(line.offset, rest), what + left)

    def _set_aside(self, file: str, line: Line, reason: str) -> None:
        self.quarantine.append(quarantine_row(file, line, reason, self.key))

    def result(self) -> ReadResult:
        """The frames."""
        events = event_frame(self.events)
        events = with_layers(events, events["session_id"].unique())
        quarantine = pl.DataFrame(self.quarantine, schema=QUARANTINE_SCHEMA)
        return ReadResult(events, quarantine, self.lines, events.height + quarantine.height - self.lines)


def _stem(file: str) -> str:
    """What stands for the session where a record names none: the name of the file, or of its older folder."""
    path = PurePosixPath(file)
    return path.parent.name if path.name == "events.jsonl" else path.stem
