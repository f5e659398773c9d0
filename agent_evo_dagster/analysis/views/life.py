"""Where a patch stands now, what became of it since it was decided, and the way back. Decides nothing."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from agent_evo_dagster.analysis.frames import rows_of

_COLUMNS = ("patch_id", "at", "event", "by", "reason", "round")
# What a reader is told of each state.
STANDINGS = {
    "in": "in the skill",
    "approve": "approved, in no skill yet",
    "out": "taken out again",
    "reject": "rejected",
    "withdraw": "withdrawn",
    "expire": "expired",
    "wait": "waits for a person",
    "none": "undecided",
}
_AFTER = {"adopt": "in", "put_back": "in", "take_out": "out"}
_KEEPS = frozenset({"make", "consent", "replay"})  # a patch stands as it did before
_WORDS = {
    "approve": "approved",
    "reject": "rejected",
    "withdraw": "withdrawn",
    "expire": "expired",
    "make": "made from others",
    "consent": "approved as one of two",
    "adopt": "written into the skill",
    "take_out": "taken out of the skill",
    "put_back": "put back into the skill",
    "replay": "replayed on later sessions",
}

_RULE = "policy:"  # how the record names what is no person

Event = Mapping[str, Any]


def events_by_patch(life: pl.DataFrame) -> dict[str, list[Event]]:
    """What happened to each patch (LIFE_SCHEMA), in order.

    Raises:
        AnalysisError: the frame lacks a column.
    """
    found: dict[str, list[Event]] = defaultdict(list)
    for row in rows_of(life, _COLUMNS, what="what became of patches"):
        found[row["patch_id"]].append(row)
    return found


def standing(decision: str, events: Iterable[Event]) -> str:
    """One of STANDINGS: the last word of the record, else the decision that the round stored."""
    told = [str(event["event"]) for event in events if event["event"] not in _KEEPS]
    state = _AFTER.get(told[-1], told[-1]) if told else decision
    return state if state in STANDINGS else "none"


def since(decision: str, events: Iterable[Event]) -> str:
    """What the record says last of a patch that no longer stands as the round decided; else nothing."""
    told = [event for event in events if event["event"] not in _KEEPS]
    held = {"approve", "in"} if decision == "approve" else {decision}
    return _told(told[-1]) if told and standing(decision, told) not in held else ""


def history(decision: str, events: Iterable[Event]) -> tuple[str, ...]:
    """Each event in words: when, what, by whom, why; without the decision that the round stored itself."""
    return tuple(_told(event) for event in events if event["event"] != decision)


def event_words(event: str) -> str:
    """What happened, in words."""
    return _WORDS.get(event, event)


def by_words(name: str) -> str:
    """Who decided, for people: a person's name, or the rule that the record names `policy:<name>`."""
    rule = name.removeprefix(_RULE)
    return f"the rule {rule}" if rule != name else name


def _told(event: Event) -> str:
    when = f"{event['at']:%Y-%m-%d %H:%M} UTC: " if isinstance(event["at"], datetime) else ""
    where = f" in {event['round']}" if event["round"] else ""
    who = f" by {by_words(event['by'])}" if event["by"] else ""
    why = f": {event['reason']}" if event["reason"] else ""
    return f"{when}{event_words(event['event'])}{where}{who}{why}"


def ways(patch_id: str, skill: str, round_key: str, state: str) -> tuple[tuple[str, str], ...]:
    """What can be done about a patch that stands so, each with its command; none where it is final."""
    name, of, key = shlex.quote(patch_id), shlex.quote(skill), shlex.quote(round_key)
    signed = "--by NAME --reason TEXT"
    adopt = f"agent-evo rounds run {key} --only adopt"
    found: Mapping[str, Sequence[tuple[str, str]]] = {
        "wait": [(f"Once it is approved, bring {patch_id} into {skill}", adopt)],
        "in": [(f"Undo: take {patch_id} out of {skill}", f"agent-evo skills rollback {name} {signed}")],
        "approve": [
            (f"Bring {patch_id} into {skill}", adopt),
            (f"Undo: take {patch_id} back", f"agent-evo patches withdraw {name} {signed}"),
        ],
        "out": [
            (f"See the versions of {skill}, with and without {patch_id}", f"agent-evo skills versions {of}"),
            ("Put it back: go to one of them", f"agent-evo skills rollback {of} --to VERSION {signed}"),
        ],
    }
    return tuple(found.get(state, ()))
