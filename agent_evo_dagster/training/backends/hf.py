"""Training through Hugging Face TRL: GRPO on our rollouts. Files and processes are the worker's."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from agent_evo_dagster.extras import require
from agent_evo_dagster.training.adapters import adapter_of, merged
from agent_evo_dagster.training.backends.grpo_arguments import grpo_arguments
from agent_evo_dagster.training.backends.grpo_rollouts import RolloutFunction, reward_function
from agent_evo_dagster.training.backends.grpo_steps import StepCallback
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.engines import Engine
from agent_evo_dagster.training.environments.types import Environment
from agent_evo_dagster.training.placement import placement, require_memory
from agent_evo_dagster.training.policy.checkpoints import Policy
from agent_evo_dagster.training.reporting import Monitor
from agent_evo_dagster.training.states import State, States

NAME: Final = "hf"


@dataclass(frozen=True)
class Trained:
    """What a training made."""

    model: Any  # the policy's, changed in place; with adapters a new one, merged
    steps: int
    rollouts: pl.DataFrame  # ROLLOUT_SCHEMA, all of them
    stopped_early: str | None
    backend: str  # which one this is, told by itself


def train(
    policy: Policy,
    config: TrainingConfig,
    environment: Environment,
    monitor: Monitor,
    engine: Engine,
    *,
    states: States | None = None,
    start: State | None = None,
) -> Trained:
    """Run `config.max_steps` steps of GRPO on `policy`, whose rollouts are the engine's.

    Args:
        policy: what is trained, on the device where it is to be trained.
        config: how.
        environment: the tasks and their rewards.
        monitor: is told of every step.
        engine: makes the rollouts.
        states: where it keeps what a killed training goes on from; none: nothing is kept while it runs.
        start: one of these states, to go on from; none: from the first step.

    Raises:
        MissingExtraError: TRL is not installed, or PEFT where adapters are asked for.
        TrainingError: the device is not here, or the training does not fit.
    """
    require("trl", extra="hf", feature="training with the backend hf")
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOTrainer

    place = placement(config)
    require_memory(policy.model, config, place)
    rollout_function = RolloutFunction(environment, engine, config, monitor, start)
    steps = StepCallback(rollout_function, monitor, config, states, start)
    batches = -(-config.max_steps // config.num_iterations)
    tasks = environment.tasks("train", batches * config.prompts_per_step, config.seed)
    with tempfile.TemporaryDirectory(prefix="agent-evo-trl-") as scratch, _quiet():
        output = states.folder if states else Path(scratch)
        trainer = GRPOTrainer(
            model=policy.model,
            processing_class=policy.tokenizer,
            reward_funcs=[reward_function(name) for name in environment.reward_names],
            train_dataset=Dataset.from_dict({"prompt": [task.task_id for task in tasks]}),
            args=grpo_arguments(config, output, place, saves=states is not None),
            rollout_func=rollout_function,
            callbacks=[steps.for_trainer()],
            peft_config=adapter_of(config),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=str(start.folder) if start else None)
        model = merged(trainer.accelerator.unwrap_model(trainer.model))
    steps_made, rollouts = int(trainer.state.global_step), rollout_function.rollouts()
    return Trained(model, steps_made, rollouts, steps.reason, NAME)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warning that TRL asks for activation checkpointing by an old name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*gradient_checkpointing.*", FutureWarning)
        yield
