"""The environment variables of a training process. They must be set before torch is imported."""

import os

from agent_evo_dagster.training.telemetry import OFFLINE_BY_DEFAULT, TELEMETRY_OFF

DETERMINISTIC_AND_QUIET = {
    "OMP_WAIT_POLICY": "PASSIVE",  # spinning threads starve their neighbours on a busy machine
    "TOKENIZERS_PARALLELISM": "false",
    "TRL_EXPERIMENTAL_SILENCE": "1",  # of rollout functions; the version of TRL is pinned
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}


def variables(threads: int) -> dict[str, str]:
    """Offline, silent, `threads` CPU threads that sleep while they wait."""
    return {**SETTINGS, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}


def prepare(threads: int) -> None:
    """Set the variables in this process: a worker started by hand has them too."""
    os.environ.update(variables(threads))
