"""TRL's rollout and reward functions on our rollouts. A prompt is a task's id: the engine renders it."""

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from agent_evo_dagster.training.adapters import network
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.engines import Engine
from agent_evo_dagster.training.environment_choice import rollout_limits
from agent_evo_dagster.training.environments.types import Environment
from agent_evo_dagster.training.reporting import Monitor
from agent_evo_dagster.training.rollout.frames import Origin, Scored, rollout_frame
from agent_evo_dagster.training.rollout.groups import Batch, Rules, attempt_groups
from agent_evo_dagster.training.rollout.summary import summary, tool_faults
from agent_evo_dagster.training.rollout.types import Sampling
from agent_evo_dagster.training.states import State
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA

# TRL adds rewards up in float32. On this grid the sums are exact for groups of up to 256, so that a group
# of equal rewards has a standard deviation and advantages of exactly 0: rounding noise over a tiny deviation
# would otherwise become a gradient, which Adam scales up.
GRID = 2**16

Components = Mapping[str, float] | None


class RolloutFunction:
    """Called by TRL at each batch with the prompts of all groups; keeps what it made."""

    def __init__(
        self,
        environment: Environment,
        engine: Engine,
        config: TrainingConfig,
        monitor: Monitor,
        start: State | None = None,
    ) -> None:
        self._environment = environment
        self._engine = engine
        self._config = config
        self._monitor = monitor
        self._limits = rollout_limits(config)
        self._rules = Rules(config.num_generations, config.refills, config.truncated)
        self._frames = start.rollouts.partition_by("step", maintain_order=True) if start else []
        self.latest: dict[str, float | None] = {}
        self.timings: dict[str, float | None] = {}

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        """Roll out one episode for each prompt (a task id, repeated for each generation)."""
        model = trainer.accelerator.unwrap_model(trainer.model)
        version = int(trainer.state.global_step)
        tasks = [self._environment.task(task_id) for task_id in prompts]
        attempt = partial(self._engine.attempt, tick=self._monitor.tick)
        sampling = Sampling(self._config.temperature, batch_seed(self._config.seed, version))
        began = time.perf_counter()
        model.eval()
        self._engine.update(network(model))
        batch = attempt_groups(
            attempt,
            self._environment.episode,
            tasks,
            limits=self._limits,
            sampling=sampling,
            rules=self._rules,
        )
        model.train()
        self._keep(batch, version, time.perf_counter() - began)
        trajectories = [rollout.trajectory for rollout in batch.rollouts]
        usable = list(zip(batch.rollouts, batch.usable, strict=True))
        return {
            "prompt_ids": [list(trajectory.prompt_ids) for trajectory in trajectories],
            "completion_ids": [trajectory.completion_ids for trajectory in trajectories],
            "logprobs": [trajectory.logprobs for trajectory in trajectories],
            "env_mask": [_mask(*pair) for pair in usable],
            "components": [_components(*pair) for pair in usable],
        }

    def rollouts(self) -> pl.DataFrame:
        """All rollouts so far, in ROLLOUT_SCHEMA."""
        return pl.concat([ROLLOUT_SCHEMA.to_frame(), *self._frames])

    def _keep(self, batch: Batch, version: int, seconds: float) -> None:
        config = self._config
        first_group = len(self._frames) * config.prompts_per_step
        origin = Origin(version + 1, first_group, config.num_generations, version)
        frame = rollout_frame(batch.rollouts, origin, self._engine.renderer)
        self._frames.append(frame)
        uses = [rollout.tool_use for rollout in batch.rollouts]
        self.latest = {**summary(frame), **tool_faults(uses), **batch.metrics()}
        _warn_of_failures(batch.rollouts)
        self.timings = {"rollout_seconds": seconds, "rollout_tokens_per_second": batch.sampled / seconds}


def _mask(rollout: Scored, usable: bool) -> list[int]:
    """1 on the tokens that train. What does not train counts in no denominator and in no KL term either."""
    mask = rollout.trajectory.response_mask
    return mask if usable else [0] * len(mask)


def _components(rollout: Scored, usable: bool) -> dict[str, float] | None:
    """What the rollout earned; None where it trains nothing."""
    return dict(rollout.score.components) if usable and rollout.score is not None else None


def _warn_of_failures(rollouts: Sequence[Scored]) -> None:
    """Say how many rollouts their environment failed, and why the first of them did."""
    errors = [error for rollout in rollouts if (error := rollout.trajectory.error)]
    if errors:
        logging.getLogger(__name__).warning(
            "%d of %d rollouts failed in their environment and train nothing; the first: %s",
            len(errors), len(rollouts), errors[0],
        )  # fmt: skip


def batch_seed(seed: int, version: int) -> int:
    """Seed of the batch that is sampled after `version` optimiser steps."""
    digest = hashlib.sha256(f"rollout:{seed}:{version}".encode()).digest()
    return int.from_bytes(digest[:7], "big")


def reward_function(name: str) -> Callable[..., list[float | None]]:
    """TRL's reward function for one component; None for a rollout without a score: it trains nothing."""

    def component(components: list[Components], **_: Any) -> list[float | None]:
        return [None if each is None else round(each[name] * GRID) / GRID for each in components]

    component.__name__ = name
    return component
