"""What the report is told: this round's frames, and the evaluations of earlier rounds."""

import json

import polars as pl

from agent_evo_dagster.analysis.comparison import COMPARISON_SCHEMA
from agent_evo_dagster.analysis.report import ReportInputs
from agent_evo_dagster.analysis.types import TREND_SCHEMA
from agent_evo_dagster.analysis.views.policy import trend_rows
from agent_evo_dagster.analysis.views.training import training_rows
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.warehouse import Warehouse


def earlier_trend(store: RoundStore, warehouse: Warehouse, key: str) -> pl.DataFrame:
    """The evaluations of the rounds before `key` that have one (TREND_SCHEMA)."""
    asset = ("policy_evaluation",)
    done = set(warehouse.rounds(asset))
    rows = [
        trend_rows(manifest.key, manifest.number, warehouse.read(asset, manifest.key))
        for manifest in store.earlier(key)
        if manifest.key in done
    ]
    return pl.concat([pl.DataFrame(schema=TREND_SCHEMA), *rows])


def earlier_training(store: RoundStore, warehouse: Warehouse, key: str) -> pl.DataFrame:
    """How training went in the rounds before `key` (COMPARISON_SCHEMA), by their numbers."""
    asset = ("training_metrics",)
    done = set(warehouse.rounds(asset))
    rows = [
        training_rows(manifest.key, warehouse.read(asset, manifest.key))
        for manifest in store.earlier(key)
        if manifest.key in done
    ]
    return pl.concat([pl.DataFrame(schema=COMPARISON_SCHEMA), *rows])


def costs(
    rollouts: pl.DataFrame, evaluation: pl.DataFrame, patch_evaluation: pl.DataFrame
) -> dict[str, float]:
    """What the round took, in units that are the same on every machine."""
    spent = [json.loads(text)["cost"] for text in patch_evaluation["evidence"]]
    return {
        "training rollouts": rollouts.height,
        "training tokens sampled": int(rollouts["response_mask"].list.sum().sum()),
        "evaluation rollouts": evaluation.height,
        "gate rollouts": sum(cost["rollouts"] for cost in spent),
        "gate optimiser steps": sum(cost["training_steps"] or 0 for cost in spent),
    }


def checkpoints(manifest: RoundManifest, run: pl.DataFrame) -> dict[str, str]:
    """The weights that the round started from and those that it made, by hash."""
    origin = f"start ({manifest.parent.round if manifest.parent else 'embedded base'})"
    return {origin: run["init_sha256"][0], "trained": run["checkpoint_sha256"][0]}


def gather(
    manifest: RoundManifest, trend: pl.DataFrame, training: pl.DataFrame, frames: dict[str, pl.DataFrame]
) -> ReportInputs:
    """The inputs of the report; `frames` are the round's assets by name."""
    run = frames["training_run"]
    return ReportInputs(
        round_key=manifest.key,
        number=manifest.number,
        opened_at=manifest.opened_at,
        request=manifest.request,
        seed=manifest.seed,
        steps=frames["trajectories"],
        segments=frames["segments"],
        quarantine=frames["quarantined_lines"],
        coverage=frames["capture_coverage"],
        session_findings=frames["session_findings"],
        training_findings=frames["training_findings"],
        metrics=frames["training_metrics"],
        rollouts=frames["rollout_trajectories"],
        evaluation=frames["policy_evaluation"],
        patches=frames["skill_patches"],
        patch_evaluation=frames["patch_evaluation"],
        patch_decisions=frames["patch_decisions"],
        trend=trend,
        training_trend=training,
        settings=frames["training_config"],
        compiled=frames["skill_versions"],
        checkpoints=checkpoints(manifest, run),
        operator=manifest.operated.line() if manifest.operated else "",
        costs=costs(frames["rollout_trajectories"], frames["policy_evaluation"], frames["patch_evaluation"]),
    )
