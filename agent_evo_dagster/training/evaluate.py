"""Evaluation of a policy on held-out tasks, as rows. Its terms are the environment's, never a run's."""

import polars as pl

from agent_evo_dagster.training.engines import Engine
from agent_evo_dagster.training.environments.types import Environment
from agent_evo_dagster.training.request import EvaluationSpec
from agent_evo_dagster.training.rollout.frames import Scored
from agent_evo_dagster.training.rollout.types import Sampling, Tick
from agent_evo_dagster.training.types import EVALUATION_SCHEMA

TEMPERATURE = 1.0  # of sampled rollouts: a run that trains at another one is measured at this one


def evaluate(
    engine: Engine, environment: Environment, spec: EvaluationSpec, *, name: str, seed: int, tick: Tick
) -> pl.DataFrame:
    """Rows of EVALUATION_SCHEMA, labelled `name` and `seed`. All policies meet the same tasks and luck."""
    tasks = environment.tasks(spec.split, spec.tasks, spec.seed)
    modes = [("sampled", spec.samples, TEMPERATURE)] + [("greedy", 1, 0.0)] * spec.greedy
    frames = []
    for mode, samples, temperature in modes:
        episodes = [environment.episode(task) for task in tasks for _ in range(samples)]
        sampling = Sampling(temperature, spec.seed)
        trajectories = engine.attempt(episodes, environment.limits, sampling, tick=tick)
        rollouts = [Scored(*pair) for pair in zip(episodes, trajectories, strict=True)]
        rows = [_row(rollout, at % samples) for at, rollout in enumerate(rollouts)]
        labels = {"policy": name, "seed": seed, "mode": mode}
        frames.append(pl.DataFrame([{**labels, **row} for row in rows], schema=EVALUATION_SCHEMA))
    return pl.concat(frames)


def _row(rollout: Scored, sample: int) -> dict[str, object]:
    score, trajectory = rollout.score, rollout.trajectory
    return {
        "task_id": rollout.episode.task.task_id,
        "sample": sample,
        "reward": None if score is None else score.reward,
        "correct": None if score is None else score.correct,
        "finish": str(trajectory.finish),
        "turns": trajectory.turns,
        "tokens": trajectory.sampled,
    }
