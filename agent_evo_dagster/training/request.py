"""What a worker is asked to do and what it answers: JSON files on both sides of the process boundary."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.deployment import Deployment
from agent_evo_dagster.training.types import Job


class EvaluationSpec(BaseModel):
    """Which held-out tasks to run, and how often."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    split: Literal["dev", "judge", "report"]
    tasks: int = Field(ge=2)
    samples: int = Field(ge=1, description="Sampled rollouts of each task.")
    greedy: bool = Field(description="One greedy rollout of each task as well.")
    seed: int = Field(ge=0)


class ProbeSpec(BaseModel):
    """A paired comparison of two configurations: short trainings from one checkpoint, with the same seeds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    candidate: TrainingConfig
    seeds: tuple[int, ...] = Field(min_length=1)
    steps: int = Field(ge=1)


class WorkerRequest(BaseModel):
    """One job. `config` is the baseline of a probe. The worker writes only below `run_dir`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    job: Job
    run_dir: Path
    config: TrainingConfig
    init_checkpoint: Path | None = Field(
        description="Folder in the HF layout; null: the embedded base policy."
    )
    checkpoint: Path | None = Field(None, description="evaluate: the trained policy, beside init_checkpoint.")
    evaluation: EvaluationSpec | None = Field(None, description="evaluate and probe: the held-out tasks.")
    probe: ProbeSpec | None = None
    deployment: Deployment = Field(Deployment(), description="Where it computes.")

    @property
    def backends(self) -> tuple[str, ...]:
        """Those that it asks to train, by name."""
        configs = [] if self.job == "evaluate" else [self.config]
        configs += [self.probe.candidate] if self.probe else []
        return tuple(sorted({config.backend for config in configs}))


class WorkerResult(BaseModel):
    """Written last, atomically: its presence says that the job is whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    job: Job
    steps: int
    checkpoint_sha256: str | None = Field(None, description="sha256_tree of the checkpoint folder.")
    init_sha256: str
    backends: tuple[str, ...] = Field(
        (), description="Those that trained, each as it tells itself; none: nothing was trained, or not told."
    )
    stopped_early: str | None = None
    packages: dict[str, str] = Field(description="Versions of what computed it.")
    hardware: dict[str, str] = Field({}, description="What decides how numbers are rounded there.")
    peak_memory_bytes: int
    wall_seconds: float
    cpu_seconds: float
