"""What a job came to, and the files that say so. No job is run here."""

import io
import platform
import resource
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import polars as pl

from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.training.hardware import hardware
from agent_evo_dagster.training.placement import Placement
from agent_evo_dagster.training.request import WorkerRequest, WorkerResult

PACKAGES = ("agent-evo-dagster", "torch", "transformers", "trl", "peft", "tokenizers", "polars")
OUTPUTS = (
    "result.json",  # first: what remains is then known to be unfinished
    "metrics.jsonl",
    "timings.jsonl",
    "rollouts.parquet",
    "evaluation.parquet",
    "inputs.json",
    "heartbeat.json",
    "checkpoint",
)


@dataclass(frozen=True)
class Outcome:
    """Steps made and policies touched, by the hash of their folders."""

    steps: int
    init_sha256: str
    checkpoint_sha256: str | None
    backends: tuple[str, ...]  # those that trained, each told by itself
    stopped_early: str | None = None
    place: Placement | None = None


def clear_outputs(run_dir: Path) -> None:
    """Remove what an earlier try of the same job left, but not the states that it may go on from."""
    for name in OUTPUTS:
        path = run_dir / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for staged in run_dir.glob(".checkpoint.*"):  # of a try that was killed while it saved
        shutil.rmtree(staged)


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write `frame` as Parquet in one step."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    write_atomic(path, buffer.getvalue())


def write_result(request: WorkerRequest, outcome: Outcome, began: float) -> None:
    """Write `result.json`, the sign that the job is whole; `began` is of the monotonic clock."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    result = WorkerResult(
        job=request.job,
        steps=outcome.steps,
        checkpoint_sha256=outcome.checkpoint_sha256,
        init_sha256=outcome.init_sha256,
        backends=outcome.backends,
        stopped_early=outcome.stopped_early,
        packages={"python": platform.python_version(), **versions()},
        hardware={**hardware(), **(asdict(outcome.place) if outcome.place else {})},
        peak_memory_bytes=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        wall_seconds=time.monotonic() - began,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
    )
    write_atomic(request.run_dir / "result.json", result.model_dump_json(indent=2).encode())


def versions() -> dict[str, str]:
    """Of the packages that decide what is computed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed as a package"
    return found
