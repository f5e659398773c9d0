"""ATIF documents as a source: `atif/<session>/<name>.json`. The format and its rules are in capture.atif.

The first event of a step carries the step itself, and the document's head goes with its first step: what ATIF
says and events have no column for is not lost, and `documents_of` gives the document back.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from agent_evo_dagster.capture.atif import Content, Step, Trajectory, validate
from agent_evo_dagster.capture.fields import FieldError, at_of, dump, parse
from agent_evo_dagster.capture.frames import event_frame, with_layers
from agent_evo_dagster.capture.lines import Line
from agent_evo_dagster.capture.names import safe_name
from agent_evo_dagster.capture.quarantine import quarantine_row
from agent_evo_dagster.capture.read import verified_bytes
from agent_evo_dagster.capture.records import identity
from agent_evo_dagster.capture.redact import redact_value, rules_of
from agent_evo_dagster.capture.screen import rules_called_for
from agent_evo_dagster.capture.sources.protocol import Reading
from agent_evo_dagster.capture.types import QUARANTINE_SCHEMA, Event, FileSlice, Source, bare_event
from agent_evo_dagster.errors import CaptureError

FOLDER = "atif"
_KINDS = {"user": "UserPromptSubmit", "agent": "MessageDisplay", "system": "SystemStep"}
_UNTIMED = 946_684_800 * 10**9  # where no step before has a time: 2000-01-01, and marked as derived


class AtifDocuments:
    """Trajectories of any agent, a document each."""

    folder = FOLDER

    def recognises(self, records: Sequence[Mapping[str, object]]) -> bool:
        """A document names its version first of all."""
        return any(str(record.get("schema_version")).startswith("ATIF-v1.") for record in records)

    def target(self, path: Path, records: Sequence[Mapping[str, object]], /) -> str:
        """By session, where the document names one."""
        session = records[0].get("session_id") or path.stem
        return f"{FOLDER}/{safe_name(session)}/{safe_name(path.stem)}.json"

    def read(self, spool: Path, slices: Sequence[FileSlice], *, key: bytes) -> Reading:
        """The events of each document, which counts as one line; a document that is none is quarantined."""
        events: list[Event] = []
        quarantine = []
        for part in slices:
            data = verified_bytes(spool, part)
            try:
                events += _events(data, part.file, key)
            except (CaptureError, ValueError, RecursionError) as error:
                quarantine.append(quarantine_row(part.file, Line(0, data), str(error), key))
        frame = event_frame(events)
        return Reading(
            with_layers(frame, frame["session_id"].unique().to_list()),
            pl.DataFrame(quarantine, schema=QUARANTINE_SCHEMA),
            len(slices),
        )


def documents_of(events: pl.DataFrame) -> list[dict[str, object]]:
    """The documents that events of this source were read from, redacted, otherwise as they were."""
    found: dict[str, list[dict[str, Any]]] = {}
    for file, text in events.filter(source=Source.ATIF.value).select("source_file", "extra").iter_rows():
        told = json.loads(text) if text else {}
        if "head" in told:
            found.setdefault(file, []).append({**told["head"], "steps": [], "__path": told["path"]})
        if "step" in told:
            found[file][-1]["steps"].append(told["step"])
    return [_nested(parts) for parts in found.values()]


def _nested(parts: list[dict[str, Any]]) -> dict[str, object]:
    """The trajectories of one document, each within its parent."""
    by_path: dict[tuple[int, ...], dict[str, Any]] = {tuple(part.pop("__path")): part for part in parts}
    for path, part in by_path.items():
        if path:
            by_path[path[:-1]].setdefault("subagent_trajectories", []).append(part)
    return by_path[()]


def _events(data: bytes, file: str, key: bytes) -> list[Event]:
    (rules,) = rules_called_for([data], rules_of(key))
    document = parse(data)
    redacted = redact_value(document, key, rules) if rules else document
    whole = validate(redacted)
    session = whole.session_id or PurePosixPath(file).parts[1]
    return [event for one in _trajectories(whole, ()) for event in _Document(file, session, one).events()]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A trajectory, and the places that lead to it from the root."""

    trajectory: Trajectory
    path: tuple[int, ...]


def _trajectories(root: Trajectory, path: tuple[int, ...]) -> Iterator[_Placed]:
    yield _Placed(root, path)
    for place, child in enumerate(root.subagent_trajectories or ()):
        yield from _trajectories(child, (*path, place))


class _Document:
    """The events of one trajectory of a document, in the making."""

    def __init__(self, file: str, session: str, placed: _Placed) -> None:
        self.file, self.session, self.path = file, session, placed.path
        self.trajectory = placed.trajectory
        self.agent = placed.trajectory.trajectory_id if placed.path else None
        self.at, self.timed = _UNTIMED, False
        self.made = 0

    def events(self) -> Iterator[Event]:
        """All, step by step."""
        kept = {"steps", "subagent_trajectories"} if self.trajectory.subagent_trajectories else {"steps"}
        head = self.trajectory.model_dump(mode="json", exclude_unset=True, exclude=kept)
        for place, step in enumerate(self.trajectory.steps):
            self._tell_time(step)
            told = {"step": step.model_dump(mode="json", exclude_unset=True)}
            first = {"head": head, "path": list(self.path)} if place == 0 else {}
            yield self._event(_KINDS[step.source], text=_text(step.message), extra={**first, **told})
            yield from self._calls(step)

    def _calls(self, step: Step) -> Iterator[Event]:
        calls = {call.tool_call_id: call for call in step.tool_calls or ()}
        for call_id, call in calls.items():
            yield self._event("PreToolUse")._replace(
                tool_name=call.function_name, tool_use_id=call_id, tool_input=dump(call.arguments)
            )
        for result in step.observation.results if step.observation else ():
            answered = calls.get(result.source_call_id or "")
            if answered is not None:
                response = {**(result.extra or {}), "content": _text(result.content), "outcome_told": False}
                yield self._event("PostToolUse")._replace(
                    tool_name=answered.function_name,
                    tool_use_id=answered.tool_call_id,
                    tool_input=dump(answered.arguments),
                    tool_response=dump(response),
                )

    def _tell_time(self, step: Step) -> None:
        try:
            told = at_of(step.timestamp)
        except FieldError:
            self.timed = False
        else:
            self.at, self.timed = max(self.at, told) if self.at != _UNTIMED else told, True

    def _event(self, kind: str, *, text: str | None = None, extra: Mapping[str, object] = {}) -> Event:
        self.made += 1
        self.at += 1  # what one step holds keeps its order
        origin = f"{self.file}\0{self.path}\0{self.made}\0{dump(dict(extra))}"
        event = bare_event(
            identity(origin.encode()), self.session, kind, self.at, Source.ATIF, self.file, self.made
        )
        return event._replace(
            agent_id=self.agent,
            agent_type=self.trajectory.agent.name if self.path else None,
            text=text,
            extra=dump(dict(extra)) if extra else None,
            derived=[] if self.timed else ["at"],
        )


def _text(content: Content | None) -> str | None:
    """The words of a content; pictures stay in the step."""
    if content is None or isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if part.text is not None)
