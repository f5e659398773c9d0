"""Claude Code as a reader of skills: each task in a new place, with no hook: none becomes evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agent_evo_dagster.analysts.budget import ROLLOUTS
from agent_evo_dagster.analysts.client import Ended, Result, client_version, find_client, read_result
from agent_evo_dagster.errors import ClientError
from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.operators.types import Bounds
from agent_evo_dagster.operators.workspace import Workspace, workspace
from agent_evo_dagster.patches.hidden import visible
from agent_evo_dagster.rollouts.checking import answers, lay_out, passes
from agent_evo_dagster.rollouts.tasks import Task
from agent_evo_dagster.rollouts.types import Attempt, Budget, Finish, counted, paid
from agent_evo_dagster.skills.types import CompiledSkill

_ASKED: Final = "Do this as the skill {skill} of this project says.\n\n{prompt}"
_ANSWER: Final = "\n\nGive your answer alone on the last line."
_FINISHES: Final[dict[str, Finish]] = {
    "success": "stop",
    "error_max_turns": "tool_limit",
    "error_max_budget_usd": "tool_limit",
}


@dataclass(frozen=True)
class ClientReader:
    """The client on PATH; `model` is None for the client's own choice."""

    model: str | None = None

    @cached_property
    def engine(self) -> str:
        """The client with its version.

        Raises:
            ClientError: there is none.
        """
        return f"claude_code {client_version()}"

    @property
    def asked(self) -> str | None:
        """The model's name."""
        return self.model

    def can_do(self, task: Task) -> bool:  # noqa: ARG002 (the protocol's)
        """Every task."""
        return True

    def sees(self, skill: str, skills: Sequence[CompiledSkill]) -> str:  # noqa: ARG002 (the protocol's)
        """All skills of the project."""
        return sha256_bytes("\n".join(sorted(f"{one.name} {one.sha256}" for one in skills)).encode())

    def most(self, task: Task) -> float | None:
        """The client ends itself there."""
        return task.limits.money

    def ready(self) -> None:
        """Whether the client is here.

        Raises:
            ClientError: it is not.
        """
        find_client(ROLLOUTS.instead)

    def attempt(self, task: Task, skill: str, skills: Sequence[CompiledSkill], left: Budget) -> Attempt:
        """One run of the client; it counts as ended early where what is left to spend cut it short."""
        limits = task.limits
        money = limits.money if left.money is None else min(limits.money, left.money)
        seconds = min(limits.seconds, left.seconds)
        short = money < limits.money or seconds < limits.seconds
        prompt = _ASKED.format(skill=skill, prompt=task.prompt) + (_ANSWER if task.answer else "")
        try:
            with workspace(skills) as place:
                lay_out(place.folder, task.files)
                ended = place.run(
                    prompt,
                    Bounds(limits.turns, seconds, money),
                    model=self.model,
                    allowed=task.allow,
                    more=["--no-session-persistence"],
                )
                return _attempt(task, place, ended, most=money, short=short)
        except ClientError as error:
            return Attempt(done=None, finish="infra_error", why=str(error))
        except OSError as error:  # of this machine; what the client left is judged, and raises none
            why = f"the place that Claude Code worked in failed ({error.strerror})"
            return Attempt(done=None, finish="infra_error", most_usd=money, why=why)


def _attempt(task: Task, place: Workspace, ended: Ended, *, most: float, short: bool) -> Attempt:
    """What came of a run.

    Raises:
        ClientError: it printed no result, or failed by no fault of the task's.
    """
    seconds = round(ended.seconds, 3)
    if ended.timed_out:
        if short:
            return _cut(Attempt(done=None, finish="infra_error", most_usd=most, seconds=seconds))
        done = _done(task, place, "")
        return Attempt(done=done, finish="timeout", most_usd=most, seconds=seconds)
    result = read_result(ended)
    finish = _FINISHES.get(result.subtype)
    failed = finish is None or (finish == "stop" and result.is_error)
    cut = short and result.subtype == "error_max_budget_usd"
    attempt = Attempt(
        done=None if failed or cut else _done(task, place, result.result or ""),
        finish="infra_error" if failed or cut or finish is None else finish,
        tokens=counted(result.usage.read + result.usage.output_tokens),
        cost_usd=paid(result.total_cost_usd),
        most_usd=most if result.total_cost_usd is None else None,
        seconds=seconds,
        models=tuple(sorted(result.models)),
        why=_said(result) if failed else "",
    )
    return _cut(attempt) if cut else attempt


def _cut(attempt: Attempt) -> Attempt:
    why = "a rollout was cut short, for there was less left to spend than its task may take"
    return attempt.model_copy(update={"why": why, "ended": True})


def _done(task: Task, place: Workspace, said: str) -> bool:
    if task.check is None:
        return answers(said, task.answer or "")
    return passes(task.check, place.folder, place.scratch)


def _said(result: Result) -> str:
    return visible(f"Claude Code ended with {result.subtype[:60]}: {(result.result or 'no word')[:300]}")
