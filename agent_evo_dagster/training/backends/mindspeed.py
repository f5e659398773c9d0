"""A training by an installation of MindSpeed-RL: rendered, checked, started, followed, read back.

Its authors point to verl for new work on Ascend; this adapter is for those who have it running. It trains on
rewards and prompts of its own, so a run has metrics and a checkpoint, and no rollouts.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.ascend import ascend_environment, installed_stack, stack_problems
from agent_evo_dagster.training.backends.foreign import ForeignTrained, child, follow
from agent_evo_dagster.training.backends.mindspeed_files import (
    CONFIG_NAME,
    MindSpeedFiles,
    required,
    write_files,
)
from agent_evo_dagster.training.backends.mindspeed_metrics import LogReader
from agent_evo_dagster.training.backends.mindspeed_settings import MindSpeedSettings
from agent_evo_dagster.training.backends.ray_environment import ray_environment
from agent_evo_dagster.training.breaker import tripped
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.deployment import Deployment
from agent_evo_dagster.training.logs import tail_of
from agent_evo_dagster.training.metrics import Values
from agent_evo_dagster.training.policy.checkpoints import require_checkpoint
from agent_evo_dagster.training.process_environment import training_environment
from agent_evo_dagster.training.reporting import Monitor
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA

NAME: Final = "mindspeed_rl"
FOLDER = "mindspeed"
ENTRY = Path("cli/train_grpo.py")


def train_with_mindspeed(
    config: TrainingConfig, deployment: Deployment, base: Path, run_dir: Path, monitor: Monitor
) -> ForeignTrained:
    """Run `config.max_steps` iterations.

    Raises:
        TrainingError: the installation or a setting is missing, it fails, or it left what cannot be read.
    """
    settings = deployment.mindspeed_rl
    problems = list(installation_problems(settings, deployment))
    if problems:
        raise TrainingError("mindspeed_rl cannot be started:\n  " + "\n  ".join(problems))
    files = MindSpeedFiles(run_dir.absolute() / FOLDER)
    files.root.mkdir(parents=True, exist_ok=True)
    repository = required(settings.repository, "repository")
    variables = variables_of(deployment, repository)
    write_files(config, settings, base, files, variables)
    environment = {**os.environ, **training_environment(config.threads), **variables}
    progress = _Progress(config, files, monitor)
    command = command_of(repository, files)
    with child(command, env=environment, cwd=files.root, log=files.log) as run:
        follow(run, files.log, poll=progress.poll, tick=monitor.tick)
    checkpoint = run_dir / "checkpoint"
    _convert(settings, files, base, checkpoint)
    return ForeignTrained(progress.step, ROLLOUT_SCHEMA.to_frame(), checkpoint, progress.reason, NAME)


def command_of(repository: Path, files: MindSpeedFiles) -> list[str]:
    """Its GRPO trainer in this Python, with the configuration in the run's folder."""
    return [
        sys.executable, str(repository / ENTRY),
        f"--config-dir={files.root}", f"--config-name={CONFIG_NAME}",
    ]  # fmt: skip


def variables_of(deployment: Deployment, repository: Path) -> dict[str, str]:
    """What its processes need: its own packages are imported from the checkout."""
    return {
        **ascend_environment(deployment.ascend),
        **ray_environment(deployment.ray),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(repository), os.environ.get("PYTHONPATH", "")])),
        "HYDRA_FULL_ERROR": "1",
        "VLLM_DP_SIZE": "1",
    }


def installation_problems(settings: MindSpeedSettings, deployment: Deployment) -> Iterator[str]:
    """What is missing before it can be started."""
    if settings.repository is None:
        yield "mindspeed_rl.repository is not set: the checkout of MindSpeed-RL."
    elif not (settings.repository / ENTRY).is_file():
        yield f"mindspeed_rl.repository {settings.repository} has no {ENTRY}."
    elif not (settings.repository / "configs/model" / f"{settings.model}.yaml").is_file():
        yield f"{settings.repository}/configs/model has no {settings.model}.yaml (mindspeed_rl.model)."
    if settings.load is None or not settings.load.is_dir():
        yield f"mindspeed_rl.load {settings.load} is no folder of weights in Megatron's layout."
    if settings.data_path is None:
        yield "mindspeed_rl.data_path is not set: the prefix of its preprocessed prompts."
    if not settings.convert_command:
        yield "mindspeed_rl.convert_command is not set: what it trains could not be evaluated."
    if find_spec("ray") is None:
        yield "ray is not installed in this Python."
    if deployment.ray.submit == "job":
        yield "ray.submit: job is not supported with mindspeed_rl: it starts from its own checkout."
    yield from stack_problems(installed_stack(deployment.ascend), deployment.ascend, needs_vllm=True)


class _Progress:
    """Reads its log as it grows, tells the steps, and judges them."""

    def __init__(self, config: TrainingConfig, files: MindSpeedFiles, monitor: Monitor) -> None:
        self._config = config
        self._reader = LogReader(files.metrics)
        self._monitor = monitor
        self._steps: list[Values] = []
        self.step = 0
        self.reason: str | None = None

    def poll(self) -> bool:
        """Whether the run must stop."""
        for each in self._reader.new():
            self.step = each.step
            self._monitor.step(each.step, each.metrics, each.timings)
            self._steps.append({**each.metrics, **each.timings})
            last = each.step >= self._config.max_steps
            if not last and self.reason is None and (why := tripped(self._config, self._steps)):
                self.reason = f"step {each.step}: {why}"
        return self.reason is not None


def _convert(settings: MindSpeedSettings, files: MindSpeedFiles, base: Path, target: Path) -> None:
    """Have the installation's own converter make a checkpoint that everything here reads.

    Raises:
        TrainingError: nothing was saved, or the converter leaves no whole checkpoint.
    """
    if not (files.checkpoints / "latest_checkpointed_iteration.txt").is_file():
        raise TrainingError(f"mindspeed_rl left no checkpoint in {files.checkpoints}. Lower save_steps.")
    places = {"shards": str(files.checkpoints), "target": str(target), "base": str(base)}
    command = [_filled(word, places) for word in settings.convert_command]
    log = files.root / "convert.log"
    with log.open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, cwd=files.root, check=False)
    if done.returncode:
        raise TrainingError(
            f"mindspeed_rl.convert_command failed (exit code {done.returncode}): {' '.join(command)}\n"
            f"{tail_of(log)}"
        )
    require_checkpoint(target)


def _filled(word: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        word = word.replace("{" + name + "}", path)
    return word
