"""Turns: from a prompt, seen or not, to the next. Not whether a turn goes on with the work before it.

What a turn goes on with is told by all that it names. So the newest turn of a session that grows is open: its
steps may still move between a skill and a free segment. Ids and steps of what came before it stay.
"""

from dataclasses import dataclass
from typing import Final

from agent_evo_dagster.segments.view import TrajectoryView
from agent_evo_dagster.trajectories.types import StepKind

_TURN_ENDS: Final = frozenset({"Stop", "StopFailure"})


@dataclass(frozen=True, slots=True)
class Turn:
    """Positions `start` to `stop`. `prompt` is null where what began the turn was not captured."""

    start: int
    stop: int
    prompt: int | None


def turns_of(view: TrajectoryView) -> list[Turn]:
    """The turns of a trajectory. They cover it; marks between two turns belong to the one before."""
    starts: list[tuple[int, int | None]] = [(0, None)]
    stopped, prompt_id, calls = False, None, False
    for position in range(len(view)):
        kind = view.kind[position]
        if kind == StepKind.PROMPT:
            if not calls and starts[-1][1] is None and len(starts) == 1:
                starts[-1] = (0, position)  # only marks came before the first prompt
            else:
                starts.append((position, position))
            stopped, prompt_id, calls = False, view.prompt_id[position], False
        elif kind == StepKind.TOOL_CALL:
            asked = view.prompt_id[position]
            # a hook that refuses a Stop lets the same prompt go on
            if stopped and (asked is None or asked != prompt_id):
                starts.append((position, None))
            stopped, prompt_id, calls = False, asked, True
        elif view.mark[position] in _TURN_ENDS:
            stopped = True
    bounds = [start for start, _ in starts[1:]] + [len(view)]
    return [Turn(start, stop, prompt) for (start, prompt), stop in zip(starts, bounds, strict=True)]
