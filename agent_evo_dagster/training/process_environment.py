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


def prepare(threads: int) -> None:
    """Offline unless told otherwise, silent, with `threads` CPU threads that sleep while they wait."""
    os.environ.update(TELEMETRY_OFF)
    os.environ.update(DETERMINISTIC_AND_QUIET)
    for name, value in OFFLINE_BY_DEFAULT.items():
        os.environ.setdefault(name, value)
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)
