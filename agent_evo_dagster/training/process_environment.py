"""The environment variables of a training process. They must be set before torch is imported."""

import os

from agent_evo_dagster.training.telemetry import OFFLINE_BY_DEFAULT, TELEMETRY_OFF

DETERMINISTIC_AND_QUIET = {
    "OMP_WAIT_POLICY": "PASSIVE",  # spinning threads starve their neighbours on a busy machine
    "PYTHONHASHSEED": "0",  # read when an interpreter starts: it holds for what this process starts
    "TOKENIZERS_PARALLELISM": "false",
    "TRL_EXPERIMENTAL_SILENCE": "1",  # of rollout functions; the version of TRL is pinned
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}


def training_environment(threads: int) -> dict[str, str]:
    """This process's variables, made silent, offline unless told otherwise, with `threads` CPU threads."""
    return {**OFFLINE_BY_DEFAULT, **os.environ, **worker_environment(threads)}


def worker_environment(threads: int) -> dict[str, str]:
    """What every training process has, on whatever machine it runs."""
    return {
        **TELEMETRY_OFF,
        **DETERMINISTIC_AND_QUIET,
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
    }


def prepare(threads: int) -> None:
    """Set them in this process: a worker that was started by hand has them too."""
    os.environ.update(training_environment(threads))
