"""Skill segments: from a skill's call or slash command to its end, over turns, nested where one calls others.

A skill begins with a Skill call that succeeded, or with a slash command that the client expanded. Every later
step of the trajectory is its own until one of these ends it:

- the call of a sibling skill, or a slash command;
- a change of subject: a turn that the user began names things (see names), and none of them is a thing that
  the skill's calls named before. A turn that a wake-up or a finished job began, or that names nothing,
  changes nothing;
- the end of the session.

A skill is the child of the one in force when it is called, if that one orchestrates: it was called by slash
command, it is known as an orchestrator of such skills, or it is no child and was called in the same turn, for
a prompt that was seen. A child ends with the next child; at once where it ran as a fork; when the user speaks
and the parent is known to orchestrate; when a wake-up comes that the parent scheduled; or when a task that
the parent made is marked completed. The parent then resumes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from agent_evo_dagster.segments.names import ids_made, names_in
from agent_evo_dagster.segments.strategy import Claim
from agent_evo_dagster.segments.turns import Turn, turns_of
from agent_evo_dagster.segments.types import SegmentKind
from agent_evo_dagster.segments.view import TrajectoryView
from agent_evo_dagster.segments.waits import Waits, is_notification
from agent_evo_dagster.trajectories.types import StepKind

# Skills known to call others: their names, and how the names of those that they call begin.
ORCHESTRATORS: Final[Mapping[str, tuple[str, ...]]] = {
    "rllm-train": ("rllm-",),
    "traj-train-optimize": ("traj-",),
}


@dataclass(slots=True, eq=False)
class _Open:
    """A skill in force."""

    skill: str
    anchor: str
    turn: int
    parent: "_Open | None"
    known: bool  # as an orchestrator
    from_seen_prompt: bool
    steps: list[int] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    waits: Waits = field(default_factory=Waits)


class SkillSegmenter:
    """Finds skill segments; `orchestrators` maps a skill to the beginnings of the names that it may call."""

    name = "skill"

    def __init__(self, orchestrators: Mapping[str, Sequence[str]] = ORCHESTRATORS) -> None:
        self._orchestrators = orchestrators

    def claim(self, view: TrajectoryView, unclaimed: Sequence[int]) -> list[Claim]:
        """The skills of a trajectory, in the order of their beginnings."""
        if not any(_skill_called(view, position) for position in unclaimed) and not any(
            _command(view, position) for position in unclaimed
        ):
            return []
        reading = _Reading(view, self._orchestrators)
        free = set(unclaimed)
        for number, turn in enumerate(turns_of(view)):
            reading.begin_turn(number, turn)
            for position in range(turn.start, turn.stop):
                if position in free:
                    reading.take(position)
        return reading.claims()


class _Reading:
    """The stack of skills in force, while a trajectory is read."""

    def __init__(self, view: TrajectoryView, orchestrators: Mapping[str, Sequence[str]]) -> None:
        self._view = view
        self._orchestrators = orchestrators
        self._all: list[_Open] = []
        self._stack: list[_Open] = []  # the innermost last
        self._number = 0
        self._turn = Turn(0, 0, None)

    def begin_turn(self, number: int, turn: Turn) -> None:
        """Decide what a new turn ends."""
        self._number, self._turn = number, turn
        if not self._stack:
            return
        text = self._view.text[turn.prompt] if turn.prompt is not None else None
        owner = next((one for one in reversed(self._stack) if one.waits.woken_by(text)), None)
        if owner is not None or is_notification(text):
            self._return_to(owner or self._stack[-1])
        elif turn.prompt is None and any(one.waits.outstanding() for one in self._stack):
            self._stack[-1].waits.woken()
        elif self._changes_subject(turn):
            self._stack.clear()
        elif self._stack[0].known:
            self._return_to(self._stack[0])

    def take(self, position: int) -> None:
        """Give one step to the skill that it begins, or to the innermost in force."""
        command = _command(self._view, position)
        called = _skill_called(self._view, position)
        if command is not None:
            self._stack.clear()
            self._push(command, "slash", position, None)
        elif called is not None:
            self._call(called, position)
        elif self._stack:
            self._own(position)
        if self._view.mark[position] == "SessionEnd":
            self._stack.clear()

    def claims(self) -> list[Claim]:
        """What was found."""
        places = {id(one): place for place, one in enumerate(self._all)}
        return [
            Claim(
                SegmentKind.SKILL,
                tuple(one.steps),
                one.skill,
                one.anchor,
                None if one.parent is None else places[id(one.parent)],
            )
            for one in self._all
        ]

    def _call(self, skill: str, position: int) -> None:
        repeated = self._stack and self._stack[-1].skill == skill and self._stack[-1].anchor == "slash"
        if repeated and self._stack[-1].turn == self._number:
            self._own(position)  # the model calls the skill that the command had already loaded
            return
        again = next((depth for depth, one in enumerate(self._stack) if one.skill == skill), None)
        kept = self._stack if again is None else self._stack[:again]
        depth = next((d for d in range(len(kept) - 1, -1, -1) if self._orchestrates(kept[d], skill)), None)
        kept = [] if depth is None else kept[: depth + 1]
        if _was_forked(self._view, position):
            self._push(skill, "tool", position, self._stack[-1] if self._stack else None)
            self._stack.pop()
            return
        self._stack = list(kept)
        self._push(skill, "tool", position, kept[-1] if kept else None)

    def _orchestrates(self, one: _Open, skill: str) -> bool:
        if one.anchor == "slash":
            return True
        if one.skill in self._orchestrators:
            return skill.startswith(tuple(self._orchestrators[one.skill]))
        return one.parent is None and one.from_seen_prompt and one.turn == self._number

    def _push(self, skill: str, anchor: str, position: int, parent: _Open | None) -> None:
        known = anchor == "slash" or skill in self._orchestrators
        made = _Open(skill, anchor, self._number, parent, known, self._turn.prompt is not None)
        self._all.append(made)
        self._stack.append(made)
        self._own(position)

    def _own(self, position: int) -> None:
        view = self._view
        done = _task_completed(view, position)
        owner = next((one for one in self._stack if done in one.tasks), None) if done else None
        if owner is not None:
            self._return_to(owner)
        top = self._stack[-1]
        top.steps.append(position)
        if not view.is_call(position):
            return
        top.names |= names_in(view, position)
        top.waits.take(view, position)
        if view.tool_name[position] == "TaskCreate":
            top.tasks.update(ids_made(view, position))

    def _return_to(self, one: _Open) -> None:
        del self._stack[self._stack.index(one) + 1 :]

    def _changes_subject(self, turn: Turn) -> bool:
        """Whether a turn of the user's is about other things than the skills in force."""
        before = set().union(*(one.names for one in self._stack))
        named: set[str] = set()
        for position in range(turn.start, turn.stop):
            if _skill_called(self._view, position) is not None:
                if not named and not any(map(self._view.is_call, range(turn.start, position))):
                    called = _skill_called(self._view, position) or ""
                    return not any(self._orchestrates(one, called) for one in self._stack)
                break
            named |= names_in(self._view, position)
        return bool(named and before) and named.isdisjoint(before)


def _skill_called(view: TrajectoryView, position: int) -> str | None:
    """The skill that a successful Skill call names."""
    if view.tool_name[position] != "Skill" or not view.succeeded(position):
        return None
    name = view.response_of(position).get("commandName") or view.input_of(position).get("skill")
    return name if isinstance(name, str) else None


def _was_forked(view: TrajectoryView, position: int) -> bool:
    return view.response_of(position).get("status") == "forked"


def _command(view: TrajectoryView, position: int) -> str | None:
    """The slash command that the client expanded in a prompt."""
    if view.kind[position] != StepKind.PROMPT or view.tool_input[position] is None:
        return None
    command = view.input_of(position)
    name = command.get("command_name")
    is_slash = command.get("expansion_type", "slash_command") == "slash_command"
    return name if is_slash and isinstance(name, str) else None


def _task_completed(view: TrajectoryView, position: int) -> str | None:
    """The task that a call marks as completed."""
    if view.tool_name[position] != "TaskUpdate" or not view.succeeded(position):
        return None
    asked = view.input_of(position)
    task = asked.get("taskId")
    return task if asked.get("status") == "completed" and isinstance(task, str) else None
