"""The rounds of one arm and seed of the gate's ablation, by the library's own parts. No figures.

A round takes one edit of the stream, judges it from the policy as it stands (or not), decides by the policy
`auto`, adopts what was approved, and trains and scores with the skills that result. Sessions, findings,
reports and Dagster are left out. Jobs are filed by what decides them, so that those that arms share are
done once, and a run that was interrupted goes on.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict

from agent_evo_dagster.files import sha256_bytes, write_atomic
from agent_evo_dagster.patches.decisions import decide, ledger_of
from agent_evo_dagster.patches.evidence import Cost, GateEvidence, ProbeFacts
from agent_evo_dagster.patches.gate import judge_patches, to_frame
from agent_evo_dagster.patches.propose import to_frame as patch_frame
from agent_evo_dagster.patches.types import GateVerdict, Patch
from agent_evo_dagster.rounds.adoption import adopt_approved
from agent_evo_dagster.rounds.configuration import compared_configs, round_config
from agent_evo_dagster.rounds.seeds import probe_seeds
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.bank import SkillBank, create_bank
from agent_evo_dagster.training.jobs import CHECKPOINT_FOLDER, EVALUATION_FILE
from agent_evo_dagster.training.launch import RESULT_FILE, run_worker, staged_run
from agent_evo_dagster.training.request import EvaluationSpec, ProbeSpec, WorkerRequest, WorkerResult
from benchmarks.gate_ablation_stream import Edit, Kind, patch_of, stream

ArmName = Literal["gate on", "gate off"]
ARMS: tuple[ArmName, ...] = ("gate on", "gate off")
TEMPLATE = Path(__file__).resolve().parents[1] / "skill_bank"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)  # of the first round: no clock decides anything here
REPORT_SEED = 20_000  # of scoring: one for all rounds, so that they are compared on the same draws
HEARTBEAT_SECONDS, LIMIT_SECONDS = 300.0, 3600.0


class Plan(BaseModel):
    """How much everything may cost."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rounds: int = 5
    steps: int = 6  # of each round's training, and of each short training of the gate
    probe_seeds: int = 2
    probe_tasks: int = 60
    probe_samples: int = 4
    tasks: int = 100  # held-out, of the report split
    samples: int = 2


class Step(BaseModel):
    """What one round did with its edit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    edit: str
    verdict: str
    decision: str
    reason: str
    difference: tuple[float, float, float] | None  # mean, low, high of the gate's probe; null: not measured
    gate_steps: int  # optimiser steps that the gate took
    train_steps: int
    checkpoint: str


class Trial(BaseModel):
    """One arm and seed: accuracy of each held-out task at the start and after each round."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arm: ArmName
    seed: int
    plan: Plan
    tasks: tuple[str, ...]
    accuracy: tuple[tuple[float, ...], ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm and seed below `home`, whose bank is its own and whose jobs are shared."""

    home: Path
    name: ArmName
    seed: int
    plan: Plan

    @property
    def folder(self) -> Path:
        """Bank and figures of this arm and seed."""
        return self.home / f"{self.name.replace(' ', '-')}-{self.seed}"

    def run(self) -> Trial:
        """All rounds, unless they were run before."""
        record = self.folder / "trial.json"
        if record.is_file():
            known = Trial.model_validate_json(record.read_bytes())
            if known.plan == self.plan:
                return known
        bank = self._fresh_bank()
        policy: Path | None = None
        scores: list[dict[str, float]] = []
        steps = []
        for number, edit in enumerate(stream(self.seed)[: self.plan.rounds], start=1):
            step, policy, before, after = self._round(bank, number, edit, policy)
            scores += [after] if scores else [before, after]
            steps.append(step)
        trial = Trial(
            arm=self.name,
            seed=self.seed,
            plan=self.plan,
            tasks=tuple(scores[0]),
            accuracy=tuple(tuple(stage[task] for task in scores[0]) for stage in scores),
            steps=tuple(steps),
        )
        write_atomic(record, trial.model_dump_json(indent=1).encode())
        return trial

    def _fresh_bank(self) -> SkillBank:
        """Adoption is cheap and done again; what is dear, the jobs, is filed."""
        for attempt in range(1000):
            place = self.folder / f"try-{attempt}" / "skill_bank"
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                return create_bank(TEMPLATE, place)
        raise FileExistsError(f"{self.folder} holds a thousand tries. Remove it.")

    def _round(
        self, bank: SkillBank, number: int, edit: Edit, policy: Path | None
    ) -> tuple[Step, Path, dict[str, float], dict[str, float]]:
        manifest = self._manifest(bank, number)
        patch = patch_of(edit, bank, round_key=manifest.key, created=manifest.opened_at)
        texts = {(patch.skill, name): text for name, text in bank.sections(patch.skill).items()}
        proposed = patch_frame([patch], texts)
        judged = self._judged(bank, manifest, patch, proposed, policy)
        ledger, now = ledger_of(bank.path), manifest.opened_at
        decided = decide("auto", proposed, judged, ledger, now)
        adopt_approved(bank, ledger, [patch], decided, now=now)
        trained, result = self._train(bank, manifest, policy)
        before, after = self._scores(bank, manifest, policy, trained)
        row, evidence = judged.row(0, named=True), json.loads(judged["evidence"][0])
        measured = row["difference"] is not None
        step = Step(
            kind=edit.kind,
            edit=edit.words,
            verdict=row["verdict"],
            decision=decided["decision"][0],
            reason=row["reason"],
            difference=(row["difference"], row["low"], row["high"]) if measured else None,
            gate_steps=evidence["cost"]["training_steps"] or 0,
            train_steps=result.steps,
            checkpoint=str(result.checkpoint_sha256),
        )
        return step, trained, before, after

    def _manifest(self, bank: SkillBank, number: int) -> RoundManifest:
        return RoundManifest(
            key=f"round-{number:04d}",
            number=number,
            opened_at=EPOCH + timedelta(days=number),
            seed=self.seed,
            request="",
            overrides={"max_steps": self.plan.steps},
            policy="auto",
            include_open_sessions=False,
            slices=(),
            bank_hash=bank.content_hash(),
            parent=None,
        )

    def _judged(
        self,
        bank: SkillBank,
        manifest: RoundManifest,
        patch: Patch,
        proposed: pl.DataFrame,
        policy: Path | None,
    ) -> pl.DataFrame:
        """The gate's verdict, or an acceptance that asked nothing."""
        if self.name == "gate off":
            return to_frame([_waved_through(patch)])
        seeds = probe_seeds(manifest, self.plan.probe_seeds)
        baseline, candidate = compared_configs(round_config(manifest, bank).config, bank, patch)
        request = WorkerRequest(
            job="probe",
            run_dir=self.home,
            config=baseline,
            init_checkpoint=policy,
            evaluation=EvaluationSpec(
                split="judge",
                tasks=self.plan.probe_tasks,
                samples=self.plan.probe_samples,
                greedy=False,
                seed=seeds[0],
            ),
            probe=ProbeSpec(
                candidate=candidate,
                seeds=seeds,
                steps=self.plan.steps,
            ),
        )
        folder, result = self._done(request)
        facts = ProbeFacts(
            init_sha256=result.init_sha256,
            seeds=seeds,
            tasks=self.plan.probe_tasks,
            samples=self.plan.probe_samples,
            steps=self.plan.steps,
            stopped_early=result.stopped_early,
        )
        rows = {patch.id: pl.read_parquet(folder / EVALUATION_FILE)}
        targets = {ref.name for ref in bank.targets()}
        return judge_patches(proposed, rows, facts={patch.id: facts}, targets=targets)

    def _train(
        self, bank: SkillBank, manifest: RoundManifest, policy: Path | None
    ) -> tuple[Path, WorkerResult]:
        config = round_config(manifest, bank).config
        request = WorkerRequest(job="train", run_dir=self.home, config=config, init_checkpoint=policy)
        folder, result = self._done(request)
        return folder / CHECKPOINT_FOLDER, result

    def _scores(
        self, bank: SkillBank, manifest: RoundManifest, policy: Path | None, trained: Path
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Accuracy of each held-out task before and after the round's training."""
        request = WorkerRequest(
            job="evaluate",
            run_dir=self.home,
            config=round_config(manifest, bank).config,
            init_checkpoint=policy,
            checkpoint=trained,
            evaluation=EvaluationSpec(
                split="report",
                tasks=self.plan.tasks,
                samples=self.plan.samples,
                greedy=False,
                seed=REPORT_SEED,
            ),
        )
        rows = pl.read_parquet(self._done(request)[0] / EVALUATION_FILE)
        means = rows.group_by("policy", "task_id").agg(pl.col("correct").mean()).sort("task_id")
        before, after = (
            dict(means.filter(pl.col("policy") == side).select("task_id", "correct").iter_rows())
            for side in ("before", "after")
        )
        return before, after

    def _done(self, request: WorkerRequest) -> tuple[Path, WorkerResult]:
        """The folder of a job, which is done unless it was."""
        places = {"run_dir", "init_checkpoint", "checkpoint"}
        weights = [_weights(path) for path in (request.init_checkpoint, request.checkpoint)]
        decides = json.dumps([request.model_dump(mode="json", exclude=places), weights], sort_keys=True)
        target = self.home / "jobs" / f"{request.job}-{sha256_bytes(decides.encode())[:20]}"
        if not (target / RESULT_FILE).is_file():
            with staged_run(target) as folder:
                run_worker(
                    request.model_copy(update={"run_dir": folder}),
                    python=None,
                    heartbeat_timeout=HEARTBEAT_SECONDS,
                    time_limit=LIMIT_SECONDS,
                )
        return target, WorkerResult.model_validate_json((target / RESULT_FILE).read_bytes())


def _weights(checkpoint: Path | None) -> str | None:
    """What a checkpoint of this experiment is told by: the hash in the result of the job that made it."""
    if checkpoint is None:
        return None
    result = WorkerResult.model_validate_json((checkpoint.parent / RESULT_FILE).read_bytes())
    return result.checkpoint_sha256


def _waved_through(patch: Patch) -> GateEvidence:
    return GateEvidence(
        patch_id=patch.id,
        judge="none",
        acceptance="ungated",
        verdict=GateVerdict.ACCEPT,
        reason="adopted without a gate: nothing was measured",
        settings={},
        facts=None,
        problems=(),
        measured=None,
        cost=Cost(),
    )
