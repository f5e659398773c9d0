"""Events as a frame, and the layer of each session in it. No reading."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from agent_evo_dagster.capture.fields import parse
from agent_evo_dagster.capture.layers import layer_of
from agent_evo_dagster.capture.types import EVENT_SCHEMA, Event


def event_frame(events: Sequence[Event]) -> pl.DataFrame:
    """The events as EVENT_SCHEMA; the layer of each is as it was."""
    columns = dict(zip(Event._fields, zip(*events, strict=True), strict=True)) if events else {}
    return pl.DataFrame([_column(name, columns.get(name, ())) for name in EVENT_SCHEMA])


def _column(name: str, values: Sequence[Any]) -> pl.Series:
    """One column, built in the quickest way that is exact."""
    match name:
        case "at":
            return pl.Series(name, values, dtype=pl.Int64).cast(EVENT_SCHEMA[name])
        case "tool_input" | "tool_response" | "extra":
            texts = [value.encode() if isinstance(value, str) else value for value in values]
            return pl.Series(name, texts, dtype=pl.Binary).cast(pl.String)
        case "derived":
            names = pl.Series(name, [" ".join(names) for names in values], dtype=pl.String)
            return names.str.extract_all(r"\S+")
    return pl.Series(name, values, dtype=EVENT_SCHEMA[name])


def with_layers(events: pl.DataFrame, sessions: Iterable[str]) -> pl.DataFrame:
    """The layers of `sessions` told again, from all events of theirs; those of others stay."""
    named = pl.col("session_id").is_in(list(sessions))
    telling = named & ((pl.col("tool_name") == "Skill") | (pl.col("kind") == "UserPromptExpansion"))
    columns = ["session_id", "kind", "tool_use_id", "tool_input", "extra"]
    skills: dict[str, list[str]] = {}
    counted = set()
    for session, kind, call, tool_input, extra in events.filter(telling).select(columns).iter_rows():
        is_command = kind == "UserPromptExpansion"
        skill = _field(extra, "command_name") if is_command else _field(tool_input, "skill")
        if skill and (is_command or (session, call) not in counted):
            skills.setdefault(session, []).append(skill)
            counted.add((session, call))
    layers = {session: layer_of(used).value for session, used in skills.items()}
    told = pl.col("session_id").replace_strict(layers, default="unknown", return_dtype=pl.String)
    return events.with_columns(layer=pl.when(named).then(told).otherwise("layer"))


def _field(json_text: str | None, name: str) -> str | None:
    value = parse(json_text.encode()) if json_text else None
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None
