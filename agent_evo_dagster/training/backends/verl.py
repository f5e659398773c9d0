"""A training by verl: files written, verl started and followed, what it left turned into our own layout."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import polars as pl

from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.training.ascend import ascend_environment, require_ascend
from agent_evo_dagster.training.backends.foreign import ForeignTrained, Run, child, follow, ray_job
from agent_evo_dagster.training.backends.ray_environment import ray_environment
from agent_evo_dagster.training.backends.verl_checkpoints import merge, newest_checkpoint
from agent_evo_dagster.training.backends.verl_files import write_files
from agent_evo_dagster.training.backends.verl_metrics import MetricsReader
from agent_evo_dagster.training.backends.verl_overrides import (
    VerlFiles,
    batches,
    overrides,
    runtime_variables,
)
from agent_evo_dagster.training.backends.verl_preflight import compose, require_cpus, require_devices
from agent_evo_dagster.training.backends.verl_rollouts import batch_metrics, trained_rollouts, validations
from agent_evo_dagster.training.breaker import tripped
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.deployment import Deployment
from agent_evo_dagster.training.environment_choice import environment_of
from agent_evo_dagster.training.metrics import METRICS_FILE, Values
from agent_evo_dagster.training.outcome import write_frame
from agent_evo_dagster.training.policy.checkpoints import load_tokenizer
from agent_evo_dagster.training.process_environment import training_environment
from agent_evo_dagster.training.reporting import Monitor
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.summary import summary

NAME: Final = "verl"
VALIDATION_FILE = "validation.parquet"
FOLDER = "verl"


def train_with_verl(
    config: TrainingConfig, deployment: Deployment, base: Path, run_dir: Path, monitor: Monitor
) -> ForeignTrained:
    """Run `config.max_steps` steps with verl, from the policy in the folder `base`.

    Raises:
        TrainingError: verl cannot be started so, fails, or left what cannot be read.
    """
    files = VerlFiles(run_dir.absolute() / FOLDER)
    shutil.rmtree(files.root, ignore_errors=True)
    arguments = overrides(config, deployment.verl, deployment.ray, base.absolute(), files)
    variables = _variables(config, deployment, files)
    _preflight(config, deployment, arguments)
    renderer = ChatRenderer(load_tokenizer(base))
    environment = environment_of(config, renderer.chat_template)
    write_files(config, deployment.verl, environment, renderer, files)
    progress = _Progress(config, files, monitor)
    with _started(deployment, arguments, variables, files) as run:
        follow(run, files.log, poll=progress.poll, tick=monitor.tick)
    rollouts = trained_rollouts(config, files)
    step, shards = newest_checkpoint(files.checkpoints)
    strategy = "megatron" if deployment.verl.strategy == "megatron" else "fsdp"
    checkpoint = run_dir / "checkpoint"
    merge(strategy, shards, base, checkpoint, log=files.root / "merge.log", tick=monitor.tick)
    _complete(config, deployment, files, run_dir, rollouts)
    return ForeignTrained(
        step * config.num_iterations, rollouts, checkpoint, progress.reason, NAME, environment.inputs
    )


def command_of(arguments: list[str]) -> list[str]:
    """Verl's trainer in this Python."""
    return [sys.executable, "-m", "verl.trainer.main_ppo", *arguments]


class _Progress:
    """Reads verl's metrics as they come, tells them, and judges them."""

    def __init__(self, config: TrainingConfig, files: VerlFiles, monitor: Monitor) -> None:
        self._config = config
        self._reader = MetricsReader(files.metrics)
        self._monitor = monitor
        self._steps: list[Values] = []
        self.reason: str | None = None

    def poll(self) -> bool:
        """Whether the run must stop."""
        for each in self._reader.new():
            step = each.step * self._config.num_iterations
            self._monitor.step(step, each.metrics, each.timings)
            self._steps.append({**each.metrics, **each.timings})
            last = each.step >= batches(self._config)
            if not last and self.reason is None and (why := tripped(self._config, self._steps)):
                self.reason = f"step {step}: {why}"
        return self.reason is not None


def _variables(config: TrainingConfig, deployment: Deployment, files: VerlFiles) -> dict[str, str]:
    """What the processes of the run need beside this process's own variables."""
    npu = ascend_environment(deployment.ascend) if config.device == "npu" else {}
    return {**npu, **ray_environment(deployment.ray), "VERL_FILE_LOGGER_PATH": str(files.metrics)}


def _preflight(config: TrainingConfig, deployment: Deployment, arguments: list[str]) -> None:
    """Everything that can be refused before anything is started."""
    own_devices = deployment.ray.submit == "process" and deployment.ray.address is None
    if config.device == "npu":
        require_ascend(deployment.ascend, deployment.verl, here=own_devices)
    compose(arguments)
    if own_devices:
        require_cpus(deployment.verl, deployment.ray)
        require_devices("npu" if config.device == "npu" else "cuda", deployment.verl.devices_per_node)


def _started(
    deployment: Deployment, arguments: list[str], variables: Mapping[str, str], files: VerlFiles
) -> AbstractContextManager[Run]:
    if deployment.ray.submit == "job":
        assert deployment.ray.dashboard is not None
        command = command_of(arguments)
        return ray_job(
            command, dashboard=deployment.ray.dashboard, env=variables, log=files.log, mark=files.job
        )
    # actors of a cluster that is joined know nothing of this process's variables
    joined = runtime_variables(variables) if deployment.ray.address is not None else []
    environment = {**os.environ, **training_environment(1), **variables}
    return child(command_of([*arguments, *joined]), env=environment, cwd=files.root, log=files.log)


def _complete(
    config: TrainingConfig, deployment: Deployment, files: VerlFiles, run_dir: Path, rollouts: pl.DataFrame
) -> None:
    """Add to the metrics what only the rollouts tell, file validations, drop what has another form."""
    if deployment.verl.validate_every:
        write_frame(validations(config, files), run_dir / VALIDATION_FILE)
    extra = batch_metrics(rollouts)
    path, lines = run_dir / METRICS_FILE, []
    for line in path.read_text("utf-8").splitlines():
        entry = json.loads(line)
        first = entry["step"] - config.num_iterations + 1
        of_step = rollouts.filter(pl.col("step") == first)
        if of_step.height:
            entry["metrics"] = {**entry["metrics"], **extra[first], **summary(of_step)}
        lines.append(json.dumps(entry, allow_nan=False) + "\n")
    write_atomic(path, "".join(lines).encode())
    if not deployment.verl.keep_shards:
        shutil.rmtree(files.checkpoints)
