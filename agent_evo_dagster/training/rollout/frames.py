"""Finished rollouts as rows, and their summary as metrics. Nothing is computed on tokens here."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from agent_evo_dagster.training.environments.types import Episode, Score
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.types import Trajectory
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA, Finish


@dataclass(frozen=True)
class Scored:
    """A rollout with its episode; no score where the environment failed, which says nothing of the policy."""

    episode: Episode
    trajectory: Trajectory

    @property
    def score(self) -> Score | None:
        """Reward components, or None where the environment failed."""
        return None if self.trajectory.finish is Finish.INFRA_ERROR else self.episode.score()


@dataclass(frozen=True)
class Origin:
    """Where a batch of rollouts belongs in its run."""

    step: int  # the optimiser step that it feeds first
    first_group: int
    group_size: int
    policy_version: int


def rollout_frame(rollouts: Sequence[Scored], origin: Origin, renderer: ChatRenderer) -> pl.DataFrame:
    """Rows of ROLLOUT_SCHEMA in the order of `rollouts`, whose groups are consecutive."""
    rows = [
        {
            "step": origin.step,
            "group": origin.first_group + at // origin.group_size,
            "policy_version": origin.policy_version,
            **_row(rollout, renderer),
        }
        for at, rollout in enumerate(rollouts)
    ]
    return pl.DataFrame(rows, schema=ROLLOUT_SCHEMA)


def _row(rollout: Scored, renderer: ChatRenderer) -> dict[str, object]:
    trajectory, task, score = rollout.trajectory, rollout.episode.task, rollout.score
    use = rollout.episode.tool_use()
    return {
        "task_id": task.task_id,
        "prompt": task.question,
        "answer": task.answer,
        "prompt_ids": list(trajectory.prompt_ids),
        "completion_ids": trajectory.completion_ids,
        "logprobs": trajectory.logprobs,
        "response_mask": trajectory.response_mask,
        "text": renderer.text(trajectory.completion_ids),
        "reward": None if score is None else score.reward,
        "correct": None if score is None else score.correct,
        "finish": str(trajectory.finish),
        "turns": trajectory.turns,
        "tool_calls": use.calls,
        "tool_errors": use.errors,
    }


def summary(frame: pl.DataFrame) -> dict[str, float | None]:
    """Means over one batch of rollouts, under names of our own beside the trainer's."""
    finishes = {f"rollout/finish_{finish}": _share(frame, finish) for finish in Finish}
    return {
        "rollout/accuracy": _mean(frame["correct"].cast(pl.Float64)),
        "rollout/turns": _mean(frame["turns"]),
        "rollout/tool_calls": _mean(frame["tool_calls"]),
        "rollout/tool_errors": _mean(frame["tool_errors"]),
        **finishes,
    }


def _share(frame: pl.DataFrame, finish: Finish) -> float:
    return float((frame["finish"] == str(finish)).sum()) / frame.height


def _mean(series: pl.Series) -> float | None:
    value = series.mean()
    return float(value) if isinstance(value, int | float) else None
