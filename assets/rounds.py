"""The assets of rounds: status and lineage, read from what the round made."""

import dagster as dg
import polars as pl

from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.rounds.lineage import RoundFrames, lineage_edges
from agent_evo_dagster.rounds.status import RoundStatus, optimization_status, sessions_of, training_status
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.compile import compile_all
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Metadata, counts, numbers
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource

GROUP = "rounds"


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"json"},
    partitions_def=EVOLUTION_ROUNDS,
    description="The round in one screen: status.json, with the keys of the older system and our own.",
)
def round_status(  # one input per thing that it tells
    context: dg.AssetExecutionContext,
    rounds: RoundsResource,
    hook_events: pl.DataFrame,
    quarantined_lines: pl.DataFrame,
    session_findings: pl.DataFrame,
    training_findings: pl.DataFrame,
    training_run: pl.DataFrame,
    training_metrics: pl.DataFrame,
    policy_evaluation: pl.DataFrame,
    patch_decisions: pl.DataFrame,
    skill_versions: pl.DataFrame,
    analysis_report: pl.DataFrame,
) -> dg.MaterializeResult[pl.DataFrame]:
    """Write the status of the round."""
    manifest = rounds.manifest(context)
    optimization = optimization_status(
        analysis_report["path"][0], session_findings.height + training_findings.height, patch_decisions
    )
    status = RoundStatus(
        round=manifest.number,
        key=manifest.key,
        status="waiting" if optimization.patches_waiting else "complete",
        sessions=len(sessions_of(manifest)),
        events=hook_events.height,
        quarantined=quarantined_lines.height,
        bank_hash=manifest.bank_hash,
        skills=dict(skill_versions.select("name", "sha256").iter_rows()),
        training=training_status(
            training_run,
            training_metrics,
            policy_evaluation,
            session_id=manifest.operated.session_id if manifest.operated else None,
        ),
        optimization=optimization,
    )
    text = status.model_dump_json(indent=2) + "\n"
    path = rounds.path("rounds", manifest.key, "status.json")
    write_atomic(path, text.encode())
    return dg.MaterializeResult(
        value=pl.DataFrame({"status": [status.status], "json": [text]}),
        metadata={
            **numbers({"accuracy_before": status.training.accuracy_before}),
            **numbers({"accuracy_after": status.training.accuracy_after, "reward": status.training.reward}),
            **operator_shown(manifest),
            "status": dg.MetadataValue.json(status.model_dump(mode="json")),
            "path": dg.MetadataValue.path(path),
        },
    )


def operator_shown(manifest: RoundManifest) -> Metadata:
    """Who followed the skills, and what it took."""
    shown: Metadata = {"operator": dg.MetadataValue.text(manifest.operator)}
    if manifest.operated is None:
        return shown
    run = manifest.operated
    return shown | {
        "operator_run": dg.MetadataValue.json(run.model_dump(mode="json")),
        **numbers({"operator_cost_usd": run.cost_usd, "operator_turns": run.turns}),
    }


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    description="Edges that tie each checkpoint and skill to the events that it comes from.",
)
def round_lineage(
    context: dg.AssetExecutionContext,
    rounds: RoundsResource,
    skill_bank: SkillBankResource,
    segments: pl.DataFrame,
    session_findings: pl.DataFrame,
    training_findings: pl.DataFrame,
    skill_patches: pl.DataFrame,
    patch_decisions: pl.DataFrame,
    training_config: pl.DataFrame,
    training_run: pl.DataFrame,
    skill_versions: pl.DataFrame,
) -> dg.MaterializeResult[pl.DataFrame]:
    """Write down where everything in the round comes from."""
    manifest = rounds.manifest(context)
    frames = RoundFrames(
        segments=segments,
        findings=pl.concat([session_findings, training_findings]),
        patches=skill_patches,
        decisions=patch_decisions,
        training_config=training_config,
        training_run=training_run,
        skills=skill_versions,
        skills_read={skill.name: skill.sha256 for skill in compile_all(skill_bank.read_by(manifest))},
    )
    edges = lineage_edges(manifest.key, manifest.bank_hash, frames)
    return dg.MaterializeResult(
        value=edges, metadata={**numbers({"edges": edges.height}), "kinds": counts(edges, "child_kind")}
    )
