"""Free segments: what no skill claimed, one segment for each goal. Takes every step, so it ends a chain.

A goal lasts from the user's prompt to the next one. A prompt that only goes on with the goal opens no other:
one that a wake-up or a finished job sent, and one whose calls name a thing that the goal's calls named. Where
prompts were not captured, a turn opens a goal if it has several calls, nothing may have woken the agent, and
its calls name only new things.
"""

from collections.abc import Sequence

from agent_evo_dagster.segments.names import names_in
from agent_evo_dagster.segments.strategy import Claim
from agent_evo_dagster.segments.turns import Turn, turns_of
from agent_evo_dagster.segments.types import SegmentKind
from agent_evo_dagster.segments.view import TrajectoryView
from agent_evo_dagster.segments.waits import Waits, is_notification


class FreeSegmenter:
    """Finds free segments."""

    name = "free"

    def claim(self, view: TrajectoryView, unclaimed: Sequence[int]) -> list[Claim]:
        """All of `unclaimed`, in segments without gaps."""
        goals: list[_Goal] = []
        free = set(unclaimed)
        for turn in turns_of(view):
            for position in range(turn.start, turn.stop):
                if position not in free:
                    continue
                goes_on = bool(goals) and goals[-1].steps[-1] == position - 1
                if goes_on and position == turn.start:
                    goes_on = goals[-1].goes_on_in(view, turn)
                if not goes_on:
                    goals.append(_Goal())
                goals[-1].take(view, position)
        return [Claim(SegmentKind.FREE, tuple(goal.steps)) for goal in goals]


class _Goal:
    """One goal, while its steps are gathered."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self._names: set[str] = set()
        self._waits = Waits()

    def take(self, view: TrajectoryView, position: int) -> None:
        """Add a step."""
        self.steps.append(position)
        if view.is_call(position):
            self._names |= names_in(view, position)
            self._waits.take(view, position)

    def goes_on_in(self, view: TrajectoryView, turn: Turn) -> bool:
        """Whether a turn is about this goal."""
        calls = [position for position in range(turn.start, turn.stop) if view.is_call(position)]
        named = frozenset().union(*(names_in(view, position) for position in calls))
        if turn.prompt is not None:
            text = view.text[turn.prompt]
            return self._waits.woken_by(text) or is_notification(text) or not named.isdisjoint(self._names)
        if self._waits.outstanding():
            self._waits.woken()
            return True
        is_new = len(calls) > 1 and bool(named and self._names) and named.isdisjoint(self._names)
        return not is_new
