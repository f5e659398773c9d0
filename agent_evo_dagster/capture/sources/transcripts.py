"""Claude Code's own transcripts as a source. What a line means is told in transcript_records.

`transcripts/<session>/<session>.jsonl`, and its subagents in `transcripts/<session>/subagents/`. Each line is
events, one line or another's part, or is counted by its kind; a line that is none of these is quarantined.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import polars as pl

from agent_evo_dagster.capture.client_totals import ClientTotals
from agent_evo_dagster.capture.fields import FieldError, dump, parse
from agent_evo_dagster.capture.frames import event_frame
from agent_evo_dagster.capture.lines import Line, split
from agent_evo_dagster.capture.names import safe_name
from agent_evo_dagster.capture.quarantine import quarantine_row
from agent_evo_dagster.capture.read import verified_bytes
from agent_evo_dagster.capture.records import Place
from agent_evo_dagster.capture.redact import redact_value, rules_of
from agent_evo_dagster.capture.screen import rules_called_for
from agent_evo_dagster.capture.secret_rules import Rule
from agent_evo_dagster.capture.sources.protocol import Reading
from agent_evo_dagster.capture.spliced import saved_lines
from agent_evo_dagster.capture.transcript_records import KnownCalls, Nothing, events_of
from agent_evo_dagster.capture.types import QUARANTINE_SCHEMA, Event, FileSlice
from agent_evo_dagster.capture.usage import UsageBook

FOLDER = "transcripts"
TYPE_NOTE = ".meta.jsonl"  # ends the name of the file that holds a subagent's type, beside its transcript


class Transcripts:
    """What the client itself keeps of a session, with usage, model and refused calls."""

    folder = FOLDER

    def recognises(self, records: Sequence[Mapping[str, object]]) -> bool:
        """A line of a transcript has a type and the session's id in its own spelling."""
        return any(isinstance(r.get("sessionId"), str) and isinstance(r.get("type"), str) for r in records)

    def target(self, path: Path, records: Sequence[Mapping[str, object]], /) -> str:
        """By session; a subagent's beside it."""
        session = next(name for r in records if isinstance(name := r.get("sessionId"), str))
        return target_of(session, path)

    def read(self, spool: Path, slices: Sequence[FileSlice], *, key: bytes) -> Reading:
        """The events of the transcripts, and the tokens that each message took."""
        reader = _Reader(key)
        for part in slices:
            reader.take(part, split(verified_bytes(spool, part), part.start))
        return reader.result()


def target_of(session: str, path: Path) -> str:
    """Where the copy of a transcript lies, relative to the spool."""
    name = safe_name(session)
    if path.parent.name == "subagents" or path.stem.startswith("agent-"):
        return f"{FOLDER}/{name}/subagents/{safe_name(path.stem)}.jsonl"
    return f"{FOLDER}/{name}/{name}.jsonl"


@dataclass(slots=True)
class _Reader:
    key: bytes
    events: list[Event] = field(default_factory=list)
    quarantine: list[dict[str, object]] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    usage: UsageBook = field(default_factory=UsageBook)
    totals: ClientTotals = field(default_factory=ClientTotals)
    calls: KnownCalls = field(default_factory=KnownCalls)
    seen: set[str] = field(default_factory=set)
    types: dict[tuple[str, str], str] = field(default_factory=dict)  # of subagents: folder of the session, id
    lines: int = 0

    def take(self, part: FileSlice, lines: Sequence[Line]) -> None:
        """Read the lines of one slice."""
        self.lines += len(lines)
        stem = PurePosixPath(part.file).parts[1]
        called_for = rules_called_for([line.content for line in lines], rules_of(self.key))
        for line, rules in zip(lines, called_for, strict=True):
            try:
                self._take_line(part.file, stem, line, rules)
            except RecursionError:
                self._set_aside(part.file, line, "it is nested too deeply")
            except FieldError as error:
                self._set_aside(part.file, line, str(error))
            except ValueError as error:
                self._take_broken(part.file, stem, line, f"it is not JSON: {error}")

    def _take_broken(self, file: str, stem: str, line: Line, problem: str) -> None:
        saved, rest = saved_lines(line)
        for one in saved:
            try:
                self._take_line(file, stem, one, rules_of(self.key))
            except (ValueError, RecursionError) as error:
                self._set_aside(file, one, str(error))
        if rest or not saved:
            told = f" ({len(saved)} whole records in it were recovered)" if saved else ""
            self._set_aside(file, Line(line.offset, rest), problem + told)

    def _take_line(self, file: str, stem: str, line: Line, rules: Sequence[Rule]) -> None:
        record, content = parse(line.content), line.content.strip()
        redacted = redact_value(record, self.key, rules) if rules else record
        if redacted is not record:
            content = dump(redacted).encode()
        made = events_of(redacted, Place(file, line.offset, stem, ""), content, self.calls)
        if isinstance(made, Nothing):
            self.passed[made.kind] += 1
        elif made[0].event_id in self.seen:
            raise FieldError(f"it repeats the event {made[0].event_id}")
        else:
            self.events += made
            self.seen.add(made[0].event_id)
        if file.endswith(TYPE_NOTE):
            self._take_type(stem, redacted)
        elif isinstance(redacted, dict):
            self.usage.take(redacted, stem)
            self.totals.take(redacted, stem)

    def _take_type(self, stem: str, note: object) -> None:
        told = note if isinstance(note, dict) else {}
        agent, name = told.get("agentId"), told.get("agentType")
        if isinstance(agent, str) and isinstance(name, str):
            self.types[stem, agent] = name

    def _typed(self, event: Event) -> Event:
        """The event with the type of its agent, where the client noted one."""
        stem = PurePosixPath(event.source_file).parts[1]
        name = self.types.get((stem, event.agent_id or ""))
        return event if name is None else event._replace(agent_type=name)

    def _set_aside(self, file: str, line: Line, reason: str) -> None:
        self.quarantine.append(quarantine_row(file, line, reason, self.key))

    def result(self) -> Reading:
        """The frames."""
        quarantine = pl.DataFrame(self.quarantine, schema=QUARANTINE_SCHEMA)
        passed = dict(sorted(self.passed.items()))
        usage = self.usage.frame()
        totals = self.totals.frame(usage)
        events = [self._typed(event) for event in self.events] if self.types else self.events
        return Reading(event_frame(events), quarantine, self.lines, passed, usage, totals)
