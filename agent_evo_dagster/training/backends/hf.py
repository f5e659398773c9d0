"""Training through Hugging Face TRL: GRPO on our rollouts. Files and processes are the worker's."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from agent_evo_dagster.extras import require
from agent_evo_dagster.training.backends.grpo_arguments import grpo_arguments
from agent_evo_dagster.training.backends.grpo_rollouts import RolloutFunction, reward_function
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.engines import Engine
from agent_evo_dagster.training.environments.types import Environment
from agent_evo_dagster.training.metrics import CLOCKED, finite
from agent_evo_dagster.training.policy.checkpoints import Policy
from agent_evo_dagster.training.reporting import Monitor


@dataclass(frozen=True)
class Trained:
    """What a training made beside the policy, whose weights it changed in place."""

    steps: int
    rollouts: pl.DataFrame  # ROLLOUT_SCHEMA, all of them


def train(
    policy: Policy, config: TrainingConfig, environment: Environment, monitor: Monitor, engine: Engine
) -> Trained:
    """Run `config.max_steps` steps of GRPO on `policy`, whose rollouts are the engine's.

    Raises:
        MissingExtraError: TRL is not installed.
    """
    require("trl", extra="hf", feature="training with the backend hf")
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOTrainer

    rollout_function = RolloutFunction(environment, engine, config, monitor)
    batches = -(-config.max_steps // config.num_iterations)
    tasks = environment.tasks("train", batches * config.prompts_per_step, config.seed)
    with tempfile.TemporaryDirectory(prefix="agent-evo-trl-") as scratch, _quiet():
        trainer = GRPOTrainer(
            model=policy.model,
            processing_class=policy.tokenizer,
            reward_funcs=[reward_function(name) for name in environment.reward_names],
            train_dataset=Dataset.from_dict({"prompt": [task.task_id for task in tasks]}),
            args=grpo_arguments(config, Path(scratch)),
            rollout_func=rollout_function,
            callbacks=[_step_callback(rollout_function, monitor)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return Trained(int(trainer.state.global_step), rollout_function.rollouts())


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warning that TRL asks for activation checkpointing by an old name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*gradient_checkpointing.*", FutureWarning)
        yield


def _step_callback(rollout_function: RolloutFunction, monitor: Monitor) -> Any:
    """A callback that hands each step's logs to `monitor`, apart from what a clock measured."""
    from transformers import TrainerCallback

    class StepCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not typed
        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
            del args, control
            if "loss" not in logs:  # the summary at the end of the training
                return
            values = finite({**logs, **rollout_function.latest})
            timings = {name: values.pop(name) for name in CLOCKED & values.keys()}
            monitor.step(int(state.global_step), values, {**timings, **rollout_function.timings})

    return StepCallback()
