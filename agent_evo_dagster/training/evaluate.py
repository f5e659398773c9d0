"""Evaluation of a policy on held-out tasks, as rows. Its terms are the environment's, never a run's."""

from functools import partial

import polars as pl

from agent_evo_dagster.training.engines import Engine
from agent_evo_dagster.training.environments.types import Environment
from agent_evo_dagster.training.request import EvaluationSpec
from agent_evo_dagster.training.rollout.frames import Scored
from agent_evo_dagster.training.rollout.groups import Rules, attempt_groups
from agent_evo_dagster.training.rollout.types import Sampling, Tick
from agent_evo_dagster.training.types import EVALUATION_SCHEMA

REFILLS = 1  # further attempts at a rollout that failed through no doing of the policy
TEMPERATURE = 1.0  # of sampled rollouts: a run that trains at another one is measured at this one


def evaluate(
    engine: Engine, environment: Environment, spec: EvaluationSpec, *, name: str, seed: int, tick: Tick
) -> pl.DataFrame:
    """Rows of EVALUATION_SCHEMA, labelled `name` and `seed`. All policies meet the same tasks and luck."""
    tasks = environment.tasks(spec.split, spec.tasks, spec.seed)
    modes = [("sampled", spec.samples, TEMPERATURE)] + [("greedy", 1, 0.0)] * spec.greedy
    frames = []
    for mode, samples, temperature in modes:
        repeated = [task for task in tasks for _ in range(samples)]
        batch = attempt_groups(
            partial(engine.attempt, tick=tick),
            environment.episode,
            repeated,
            limits=environment.limits,
            sampling=Sampling(temperature, spec.seed),
            rules=Rules(samples, REFILLS),
        )
        rows = [_row(rollout, at % samples) for at, rollout in enumerate(batch.rollouts)]
        labels = {"policy": name, "seed": seed, "mode": mode}
        frames.append(pl.DataFrame([{**labels, **row} for row in rows], schema=EVALUATION_SCHEMA))
    return pl.concat(frames)


def _row(rollout: Scored, sample: int) -> dict[str, object]:
    score, trajectory = rollout.score, rollout.trajectory
    return {
        "task_id": rollout.task.task_id,
        "sample": sample,
        "reward": None if score is None else score.reward,
        "correct": None if score is None else score.correct,
        "finish": str(trajectory.finish),
        "turns": trajectory.turns,
        "tokens": trajectory.sampled,
    }
