"""Trainings by libraries that bring processes of their own: which one, and where its run lies."""

from pathlib import Path
from typing import Final

from agent_evo_dagster.training.backends import mindspeed, verl
from agent_evo_dagster.training.backends.foreign import ForeignTrained
from agent_evo_dagster.training.metrics import METRICS_FILE, TIMINGS_FILE, Values, append_line
from agent_evo_dagster.training.policy.checkpoints import require_checkpoint
from agent_evo_dagster.training.reporting import Monitor, RunReporter
from agent_evo_dagster.training.request import WorkerRequest

_BACKENDS: Final = {verl.NAME: verl.train_with_verl, mindspeed.NAME: mindspeed.train_with_mindspeed}


def train_elsewhere(request: WorkerRequest, run_dir: Path, monitor: Monitor) -> ForeignTrained:
    """Train with the backend that the request names, below `run_dir`.

    Raises:
        TrainingError: it cannot be started, fails, or leaves what cannot be read.
    """
    train = _BACKENDS[request.config.backend]
    base = require_checkpoint(request.init_checkpoint)
    return train(request.config, request.deployment, base, run_dir, monitor)


class Beside:
    """A monitor for trainings that are part of a larger job: filed in a folder of their own."""

    def __init__(self, folder: Path, reporter: RunReporter) -> None:
        self._folder = folder
        self._reporter = reporter

    def tick(self) -> None:
        """Pass the sign of life on."""
        self._reporter.tick()

    def step(self, step: int, metrics: Values, timings: Values) -> None:
        """File the step in the folder, and tell it."""
        append_line(self._folder / METRICS_FILE, step, metrics)
        append_line(self._folder / TIMINGS_FILE, step, timings)
        self._reporter.tell_step(step, metrics)
