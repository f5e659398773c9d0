"""Which step each event belongs to. How a call ended is told in outcomes, what a step holds in steps."""

from typing import Any, Final

import orjson

from agent_evo_dagster.trajectories.calls import Joining, join_calls
from agent_evo_dagster.trajectories.columns import EventColumns

_PROMPTS: Final = frozenset({"UserPromptSubmit", "UserPromptExpansion"})
_COMMAND_FIELDS: Final = ("expansion_type", "command_name", "command_args", "command_source")


def assemble(events: EventColumns) -> Joining:
    """Join the events of calls, of prompts and of messages; every other event is a step of its own."""
    joining = Joining(list(range(len(events))))
    join_calls(events, joining)
    _join_prompts(events, joining)
    _join_messages(events, joining)
    return joining


def _join_prompts(events: EventColumns, joining: Joining) -> None:
    last: dict[tuple[str, str | None], list[int]] = {}
    for row, kind in enumerate(events.kind):
        if kind not in _PROMPTS:
            continue
        key = events.session_id[row], events.agent[row]
        rows = last.get(key)
        if rows is None or not _same_prompt(events, rows, row):
            rows = last[key] = []
        rows.append(row)
        joining.step_of[row] = rows[0]
        if kind == "UserPromptExpansion":
            extra = events.extra_of(row)
            command = {name: extra[name] for name in _COMMAND_FIELDS if name in extra}
            joining.commands[rows[0]] = orjson.dumps(command).decode()


def _same_prompt(events: EventColumns, known: list[int], row: int) -> bool:
    if any(events.kind[other] == events.kind[row] for other in known):
        return False
    ids = [events.value("prompt_id", one) for one in (row, known[-1])]
    if ids != [None, None]:
        return bool(ids[0] == ids[1])
    return bool(events.value("text", row) == events.value("text", known[-1]))


def _join_messages(events: EventColumns, joining: Joining) -> None:
    known: dict[tuple[str, str | None, Any], int] = {}
    parts: dict[int, list[str]] = {}
    for row, kind in enumerate(events.kind):
        if kind != "MessageDisplay":
            continue
        extra = events.extra_of(row)
        name = extra.get("message_id")
        key = events.session_id[row], events.agent[row], row if name is None else name
        step = joining.step_of[row] = known.setdefault(key, row)
        part = events.value("text", row) or extra.get("delta")
        parts.setdefault(step, []).extend([part] if isinstance(part, str) else [])
    joining.messages.update({step: "".join(shown) or None for step, shown in parts.items()})
