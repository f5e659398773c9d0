"""Slices of spool files become events; every line that is none is accounted for. Not which slices to take."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

import orjson
import polars as pl

from agent_evo_dagster.capture.fields import FieldError, dump, parse
from agent_evo_dagster.capture.layers import layer_of
from agent_evo_dagster.capture.lines import BOM, Line, salvage, split
from agent_evo_dagster.capture.quarantine import quarantine_row
from agent_evo_dagster.capture.quick import quick_event, with_numbered_characters
from agent_evo_dagster.capture.records import OpenCalls, Place, event_of, identity
from agent_evo_dagster.capture.redact import redact_value, rules_of
from agent_evo_dagster.capture.screen import rules_called_for
from agent_evo_dagster.capture.secret_rules import Rule
from agent_evo_dagster.capture.types import EVENT_SCHEMA, QUARANTINE_SCHEMA, Event, FileSlice
from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.files import sha256_bytes

_SCALARS = [name for name in EVENT_SCHEMA if name != "derived"]
_BATCH_BYTES = 4 << 20  # looked at together: starting the matcher costs more than most files


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
    reader = _Reader(key)
    with ThreadPoolExecutor(max_workers=1) as ahead:
        prepare = partial(_prepared, spool, rules_of(key))
        waiting: Future[_Batch] | None = None
        for batch in batches(slices, _BATCH_BYTES):
            prepared, waiting = waiting, ahead.submit(prepare, batch)
            if prepared is not None:
                reader.take(prepared.result())
        if waiting is not None:
            reader.take(waiting.result())
    return reader.result()


_Rules = Sequence[Rule] | None  # that a line calls for; None: none, and nothing in it takes a closer look
_Batch = list[tuple[str, Line, _Rules]]


def batches(slices: Iterable[FileSlice], size: int) -> Iterator[list[FileSlice]]:
    """The slices in order, in groups of about `size` bytes."""
    batch: list[FileSlice] = []
    held = 0
    for part in slices:
        batch.append(part)
        held += part.end - part.start
        if held >= size:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _prepared(spool: Path, rules: Sequence[Rule], slices: Sequence[FileSlice]) -> _Batch:
    """What needs no Python for each byte: it runs beside the reading of the batch before."""
    lines = [(part.file, line) for part in slices for line in split(verified_bytes(spool, part), part.start)]
    contents = [line.content for _, line in lines]
    called_for = zip(rules_called_for(contents, rules), with_numbered_characters(contents), strict=True)
    found = (called if called or numbered else None for called, numbered in called_for)
    return [(file, line, called) for (file, line), called in zip(lines, found, strict=True)]


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
    events: list[Event] = field(default_factory=list)
    quarantine: list[dict[str, object]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    calls: OpenCalls = field(default_factory=OpenCalls)
    lines: int = 0

    def take(self, batch: _Batch) -> None:
        """Read the lines of some slices."""
        self.lines += len(batch)
        for file, line, rules in batch:
            if rules is not None or not self._take_quickly(file, line):
                self._take_line(file, _stem(file), line, rules or ())

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
        events = _event_frame(self.events)
        quarantine = pl.DataFrame(self.quarantine, schema=QUARANTINE_SCHEMA)
        return ReadResult(events, quarantine, self.lines, events.height + quarantine.height - self.lines)


def _stem(file: str) -> str:
    """What stands for the session where a record names none: the name of the file, or of its older folder."""
    path = PurePosixPath(file)
    return path.parent.name if path.name == "events.jsonl" else path.stem


def _event_frame(events: list[Event]) -> pl.DataFrame:
    """The events as a frame, each with the layer of its session."""
    columns = dict(zip(Event._fields, zip(*events, strict=True), strict=True)) if events else {}
    series = [pl.Series(name, columns.get(name, ()), dtype=_plain(EVENT_SCHEMA[name])) for name in _SCALARS]
    derived = pl.Series("derived", [" ".join(names) for names in columns.get("derived", ())], dtype=pl.String)
    layers = {session: layer_of(skills).value for session, skills in _skills_used(events).items()}
    return (
        pl.DataFrame([*series, derived])
        .with_columns(
            pl.col("at").cast(EVENT_SCHEMA["at"]),
            pl.col("derived").str.extract_all(r"\S+"),
            layer=pl.col("session_id").replace_strict(layers, default="unknown", return_dtype=pl.String),
        )
        .select(EVENT_SCHEMA.names())
    )


def _plain(dtype: pl.DataType) -> pl.DataType:
    """Times are built as integers: the quickest way, and exact."""
    return pl.Int64() if isinstance(dtype, pl.Datetime) else dtype


def _skills_used(events: Iterable[Event]) -> dict[str, list[str]]:
    """Names of the skills that each session used, a call once, in order."""
    used: dict[str, list[str]] = {}
    calls = set()
    for event in events:
        skill = None
        if (
            event.tool_name == "Skill"
            and event.tool_input
            and (event.session_id, event.tool_use_id) not in calls
        ):
            calls.add((event.session_id, event.tool_use_id))
            skill = _named(event.tool_input, "skill")
        elif event.kind == "UserPromptExpansion" and event.extra:
            skill = _named(event.extra, "command_name")
        if skill:
            used.setdefault(event.session_id, []).append(skill)
    return used


def _named(json_text: str, name: str) -> str | None:
    value = orjson.loads(json_text)
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None
