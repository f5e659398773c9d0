"""The probe of a patch: what the trainer is asked so that the gate can compare. No verdict."""

from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import polars as pl
from pydantic import Field

from agent_evo_dagster.patches.evidence import ProbeFacts
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.rounds.configuration import compared_configs
from agent_evo_dagster.rounds.seeds import probe_seeds
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.output import read_evaluation
from agent_evo_dagster.training.request import EvaluationSpec, ProbeSpec, WorkerRequest
from resources.trainer import TrainerResource


class ProbePlan(dg.Config):
    """How much a probe may cost: the price of evidence, set in the launchpad."""

    tasks: int = Field(100, ge=20, description="Held-out tasks of the judge split.")
    samples: int = Field(4, ge=1, description="Sampled rollouts of each task, on each side, for each seed.")
    seeds: int = Field(2, ge=1, description="Paired short trainings.")
    steps: int = Field(6, ge=1, description="Optimiser steps of each.")


@dataclass(frozen=True, slots=True)
class Probe:
    """What a probe gave."""

    rows: pl.DataFrame
    facts: ProbeFacts
    wall_seconds: float


@dataclass(frozen=True, slots=True)
class Prober:
    """Runs probes of one round's patches, from the checkpoint that the round made."""

    context: dg.AssetExecutionContext
    plan: ProbePlan
    manifest: RoundManifest
    bank: SkillBank
    asked: TrainingConfig  # of the round
    folder: Path
    trainer: TrainerResource

    def probe(self, patch: Patch) -> Probe:
        """Train both configurations briefly on the same seeds; evaluate them on the judge's tasks."""
        seeds = probe_seeds(self.manifest, self.plan.seeds)
        baseline, candidate = compared_configs(self.asked, self.bank, patch)
        target = self.folder / f"probe-{patch.id}"
        request = WorkerRequest(
            job="probe",
            run_dir=target,
            config=baseline,
            init_checkpoint=self.folder / "train" / "checkpoint",
            evaluation=EvaluationSpec(
                split="judge", tasks=self.plan.tasks, samples=self.plan.samples, greedy=False, seed=seeds[0]
            ),
            probe=ProbeSpec(candidate=candidate, seeds=seeds, steps=self.plan.steps),
        )
        result = self.trainer.run(self.context, request)
        facts = ProbeFacts(
            init_sha256=result.init_sha256,
            seeds=seeds,
            tasks=self.plan.tasks,
            samples=self.plan.samples,
            steps=self.plan.steps,
            stopped_early=result.stopped_early,
        )
        return Probe(read_evaluation(target), facts, result.wall_seconds)
