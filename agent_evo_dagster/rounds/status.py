"""The status of a round: `status.json`, with the keys of the older system and our own. Derived."""

from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from agent_evo_dagster.rounds.types import RoundManifest


class TrainingStatus(BaseModel):
    """What the round's training did."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    run_ids: tuple[str, ...]
    session_id: str | None = Field(None, description="The operator's session; null: no agent drove the run.")
    success: bool
    reward: float | None = Field(description="Mean training reward of the last step.")
    steps: int
    checkpoint_sha256: str | None
    stopped_early: str | None
    accuracy_before: float | None = Field(description="Held-out accuracy, sampled, before training.")
    accuracy_after: float | None = Field(description="Held-out accuracy, sampled, after training.")


class OptimizationStatus(BaseModel):
    """What the round's optimisation of skills did."""

    model_config = ConfigDict(frozen=True)

    report_path: str
    findings: int
    patches_generated: int
    patches_accepted: int
    patches_rejected: int = Field(description="Rejected, withdrawn or expired.")
    patches_waiting: int


class RoundStatus(BaseModel):
    """A round in one screen."""

    model_config = ConfigDict(frozen=True)

    round: int
    key: str
    status: Literal["complete", "waiting"] = Field(description="waiting: a patch waits for a person.")
    sessions: int
    events: int
    quarantined: int
    bank_hash: str
    skills: dict[str, str] = Field(description="SHA-256 of each compiled skill.")
    training: TrainingStatus
    optimization: OptimizationStatus


def mean_accuracy(evaluation: pl.DataFrame, policy: str) -> float | None:
    """Mean of per-task accuracy of the sampled rollouts of `policy`; null where there are none."""
    rows = evaluation.filter((pl.col("policy") == policy) & (pl.col("mode") == "sampled"))
    if rows.is_empty():
        return None
    tasks = rows.group_by("task_id").agg(pl.col("correct").cast(pl.Float64).mean())
    return float(tasks["correct"].sort().sum()) / tasks.height


def last_reward(metrics: pl.DataFrame) -> float | None:
    """Training reward of the last step; null where it is missing or not finite."""
    rows = metrics.filter(pl.col("name") == "reward").sort("step")
    return None if rows.is_empty() else rows["value"][-1]


def training_status(
    run: pl.DataFrame, metrics: pl.DataFrame, evaluation: pl.DataFrame, *, session_id: str | None = None
) -> TrainingStatus:
    """The training half of the status, from the frames of the round, and the session of its operator."""
    row = run.row(0, named=True)
    return TrainingStatus(
        run_id=row["run_id"],
        run_ids=(row["run_id"],),
        session_id=session_id,
        success=row["checkpoint_sha256"] is not None,
        reward=last_reward(metrics),
        steps=row["steps"],
        checkpoint_sha256=row["checkpoint_sha256"],
        stopped_early=row["stopped_early"],
        accuracy_before=mean_accuracy(evaluation, "before"),
        accuracy_after=mean_accuracy(evaluation, "after"),
    )


def optimization_status(report_path: str, findings: int, decisions: pl.DataFrame) -> OptimizationStatus:
    """The optimisation half of the status, from the round's decisions."""
    counts = dict(decisions["decision"].value_counts().iter_rows())
    return OptimizationStatus(
        report_path=report_path,
        findings=findings,
        patches_generated=decisions.height,
        patches_accepted=counts.get("approve", 0),
        patches_rejected=sum(counts.get(word, 0) for word in ("reject", "withdraw", "expire")),
        patches_waiting=counts.get("wait", 0),
    )


def sessions_of(manifest: RoundManifest) -> frozenset[str]:
    """Ids of the sessions in the slices of a round."""
    return frozenset(session for record in manifest.slices for session in record.sessions)


def finished_sessions(manifest: RoundManifest) -> frozenset[str]:
    """Ids of those that are over: all that a round takes, unless it was told to take open ones."""
    return frozenset() if manifest.include_open_sessions else sessions_of(manifest)
