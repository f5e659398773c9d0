"""Hooks and transcripts joined: what only the transcript tells is added, what both tell is kept once.

Calls are joined by their id, by content where the captured record has none. Nothing captured is changed.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import orjson
import polars as pl

from agent_evo_dagster.capture.fields import parse
from agent_evo_dagster.capture.frames import with_layers
from agent_evo_dagster.capture.types import COVERAGE_COUNTS, COVERAGE_SCHEMA, EVENT_SCHEMA

_STARTS = frozenset({"PreToolUse"})
_ENDS = frozenset({"PostToolUse", "PostToolUseFailure", "PermissionDenied"})
_BATCH = "PostToolBatch"
_PROMPTS = frozenset({"UserPromptSubmit", "UserPromptExpansion"})
_MESSAGE = "MessageDisplay"
_COLUMNS = (
    "kind",
    "agent_id",
    "prompt_id",
    "tool_name",
    "tool_use_id",
    "tool_input",
    "text",
    "extra",
    "derived",
)


_Key = TypeVar("_Key")


class Reconciled(NamedTuple):
    """The events of all sources, and how far hooks and transcripts agree."""

    events: pl.DataFrame  # EVENT_SCHEMA: those captured as they are, then those added
    coverage: pl.DataFrame  # COVERAGE_SCHEMA, by session


def reconcile(captured: pl.DataFrame, transcripts: pl.DataFrame) -> Reconciled:
    """Join the events that hooks (or a file of the older layout) captured with those of transcripts."""
    told = transcripts.partition_by("session_id", as_dict=True, maintain_order=True)
    known = captured.select("session_id", *_COLUMNS).partition_by(
        "session_id", as_dict=True, maintain_order=True
    )
    empty = captured.clear()
    added, coverage = [], []
    for key in sorted(told.keys() | known.keys()):
        session = str(key[0])
        join = _Join(_Captured.of(known.get(key, empty)))
        if key in told:
            added.append(join.additions(told[key]))
        about = {"session_id": session, "transcript": key in told, "corrects": False}
        coverage.append(about | join.coverage())
    frame = pl.DataFrame(coverage, schema=COVERAGE_SCHEMA)
    if not added:
        return Reconciled(captured, frame)
    events = pl.concat([captured, *added])
    return Reconciled(with_layers(events, [str(key[0]) for key in told]), frame)


@dataclass(slots=True)
class _Call:
    """A call as captured."""

    call_id: str
    named: bool  # by the client; else the id is derived
    ended: bool = False
    matched: bool = False


@dataclass(slots=True)
class _Captured:
    """What was captured of one session."""

    calls: dict[str, _Call] = field(default_factory=dict)
    by_content: dict[str, list[_Call]] = field(default_factory=lambda: defaultdict(list))
    prompts: Counter[str] = field(default_factory=Counter)
    prompt_ids: Counter[str] = field(default_factory=Counter)
    messages: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    kinds: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, events: pl.DataFrame) -> "_Captured":
        """Look through the events of one session."""
        found = cls()
        spoken: dict[tuple[str | None, str], list[str]] = defaultdict(list)
        batches = []
        for row in events.select(_COLUMNS).iter_rows(named=True):
            kind = row["kind"]
            found.kinds.add(kind)
            if kind in _STARTS or kind in _ENDS:
                found._take_call(row, ended=kind in _ENDS)
            elif kind == _BATCH:
                batches.append(row["extra"])
            elif kind in _PROMPTS:
                found._take_prompt(row)
            elif kind == _MESSAGE:
                message = str(_object(row["extra"]).get("message_id"))
                spoken[row["agent_id"], message].append(row["text"] or "")
        for extra in batches:
            found._take_batch(extra)
        found.messages.update((agent, "".join(parts).strip()) for (agent, _), parts in spoken.items())
        return found

    def _take_call(self, row: Mapping[str, object], *, ended: bool) -> None:
        call_id = str(row["tool_use_id"])
        derived = row["derived"]
        call = self.calls.get(call_id)
        if call is None:
            named = not (isinstance(derived, list) and "tool_use_id" in derived)
            call = self.calls[call_id] = _Call(call_id, named)
            if not named:
                self.by_content[_content(row["tool_name"], row["tool_input"])].append(call)
        call.ended = call.ended or ended

    def _take_batch(self, extra: str | None) -> None:
        """A batch tells that its calls have ended, and of those that fire no other event."""
        calls = _object(extra).get("tool_calls")
        for place, told in enumerate(calls if isinstance(calls, list) else ()):
            if not isinstance(told, dict):
                continue
            call_id = told.get("tool_use_id")
            if isinstance(call_id, str):
                self.calls.setdefault(call_id, _Call(call_id, named=True)).ended = True
                continue
            content = _content(told.get("tool_name"), told.get("tool_input"))
            same = self.by_content[content]
            waiting = next((call for call in same if not call.ended), None)
            if waiting is not None:
                waiting.ended = True
            elif not same:
                call = _Call(f"batch-{len(self.calls)}-{place}", named=False, ended=True)
                self.calls[call.call_id] = call
                same.append(call)

    def _take_prompt(self, row: Mapping[str, object]) -> None:
        """A command's two events are one prompt."""
        text, prompt_id = str(row["text"] or "").strip(), row["prompt_id"]
        if isinstance(prompt_id, str):
            if row["kind"] == "UserPromptExpansion" and self.prompt_ids[prompt_id]:
                return
            self.prompt_ids[prompt_id] += 1
        self.prompts[text] += 1


class _Join:
    """One session's transcript against what was captured of it."""

    def __init__(self, captured: _Captured) -> None:
        self.captured = captured
        self.counts: Counter[str] = Counter()

    def additions(self, transcript: pl.DataFrame) -> pl.DataFrame:
        """The transcript's events that nothing captured tells of."""
        by_call = self._matches(transcript)
        keep, ids = [], []
        for row in transcript.select(_COLUMNS).iter_rows(named=True):
            call_id = row["tool_use_id"]
            known = by_call.get(call_id) if call_id is not None else None
            keep.append(self._is_new(row, known))
            ids.append(call_id if known is None or known.named else known.call_id)
        return (
            transcript.with_columns(told=pl.Series(ids, dtype=pl.String))
            .filter(pl.Series(keep, dtype=pl.Boolean))
            .with_columns(
                tool_use_id="told",
                derived=pl.when(pl.col("told").ne_missing(pl.col("tool_use_id")))
                .then(pl.concat_list("derived", pl.lit(["tool_use_id"])))
                .otherwise("derived"),
            )
            .select(EVENT_SCHEMA.names())
        )

    def _matches(self, transcript: pl.DataFrame) -> dict[str, _Call | None]:
        """The captured call that each call of the transcript is, if any."""
        found: dict[str, _Call | None] = {}
        for call_id, tool, tool_input in _calls_told(transcript):
            call = self.captured.calls.get(call_id)
            if call is None or call.matched:
                same = self.captured.by_content.get(_content(tool, tool_input), [])
                call = next((other for other in same if not other.matched), None)
                self.counts["matched_by_content"] += call is not None
            if call is not None:
                call.matched = True
            self.counts["calls_both" if call is not None else "calls_transcript_only"] += 1
            found[call_id] = call
        return found

    def _is_new(self, row: Mapping[str, object], known: _Call | None) -> bool:
        kind = row["kind"]
        if kind in _STARTS:
            return known is None
        if kind in _ENDS or kind == _BATCH:
            is_end = known is not None and not known.ended
            self.counts["ends_added"] += is_end
            return known is None or is_end
        if kind in _PROMPTS:
            return self._count("prompts_added", self._is_new_prompt(row))
        if kind == _MESSAGE:
            key = (_text(row["agent_id"]), str(row["text"] or "").strip())
            return self._count("messages_added", not _used(self.captured.messages, key))
        return kind not in self.captured.kinds

    def _is_new_prompt(self, row: Mapping[str, object]) -> bool:
        if row["agent_id"] is not None:
            return True  # what a subagent is asked fires no hook
        by_text = _used(self.captured.prompts, str(row["text"] or "").strip())
        prompt_id = row["prompt_id"]
        by_id = isinstance(prompt_id, str) and _used(self.captured.prompt_ids, prompt_id)
        return not (by_text or by_id)

    def _count(self, what: str, is_new: bool) -> bool:
        self.counts[what] += is_new
        return is_new

    def coverage(self) -> dict[str, int]:
        """The numbers of COVERAGE_SCHEMA."""
        alone = sum(not call.matched for call in self.captured.calls.values())
        counts = self.counts | Counter({"calls_hook_only": alone})
        return {name: counts[name] for name in COVERAGE_COUNTS}


def _calls_told(transcript: pl.DataFrame) -> Iterator[tuple[str, object, object]]:
    """Id, name and input of each call of a transcript, once, in order."""
    calls = transcript.filter(pl.col("tool_use_id").is_not_null()).unique(
        "tool_use_id", keep="first", maintain_order=True
    )
    yield from calls.select("tool_use_id", "tool_name", "tool_input").iter_rows()


def _used(counter: Counter[_Key], key: _Key) -> bool:
    """Take one of `key`, if there is one."""
    if counter[key] <= 0:
        return False
    counter[key] -= 1
    return True


def _content(tool: object, tool_input: object) -> str:
    """A call's content, so that equal calls compare equal."""
    value = parse(tool_input.encode()) if isinstance(tool_input, str) else tool_input
    return f"{tool}\0{_sorted(value)}"


def _sorted(value: object) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(value, sort_keys=True)


def _object(json_text: str | None) -> dict[str, object]:
    value = parse(json_text.encode()) if json_text else None
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
