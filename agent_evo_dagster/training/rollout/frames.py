"""Finished rollouts as scored rows. Nothing is computed on tokens here, and nothing is averaged."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from agent_evo_dagster.training.environments.types import Episode, Score, Task, ToolUse
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.taxonomy import failed
from agent_evo_dagster.training.rollout.types import Trajectory
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA, Finish


@dataclass(frozen=True)
class Scored:
    """A rollout with its score; none where it failed, which says nothing of the policy."""

    task: Task
    trajectory: Trajectory
    score: Score | None
    tool_use: ToolUse


def scored(episode: Episode, trajectory: Trajectory) -> Scored:
    """Ask the episode for its score, once, and let it go. One that cannot score has failed as well."""
    score, use = None, ToolUse(calls=0, errors=0)
    try:
        use = episode.tool_use()
        if not failed(trajectory.finish):
            score = episode.score()
    except Exception as error:  # a broken reward is a row of its kind, never a crash of the batch
        score = None
        trajectory = replace(trajectory, finish=Finish.INFRA_ERROR, error=f"{type(error).__name__}: {error}")
    with contextlib.suppress(Exception):  # what an environment cannot let go of changes no score
        episode.close()
    return Scored(episode.task, trajectory, score, use)


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
    trajectory, task, score, use = rollout.trajectory, rollout.task, rollout.score, rollout.tool_use
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
