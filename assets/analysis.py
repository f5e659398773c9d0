"""The assets of analysis: what sessions and training show, and the report for the person who decides."""

from collections.abc import Mapping

import dagster as dg
import polars as pl

from agent_evo_dagster.analysis.diagnoses.registry import default_diagnoses
from agent_evo_dagster.analysis.report import render_report
from agent_evo_dagster.analysis.sessions import find_in_sessions
from agent_evo_dagster.analysis.training import find_in_training
from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.capture.usage import usage_by_step
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.rounds.reporting import TOLD, report_inputs
from agent_evo_dagster.training.config_sources import config_from_frame
from agent_evo_dagster.training.types import EVALUATION_SCHEMA
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Results, check, counts, numbers, picture, table
from assets.schema import schema_problems
from resources.detectors import DetectorsResource
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource
from resources.warehouse import WarehouseResource

GROUP = "analysis"
SHOWN = ["origin", "kind", "severity", "summary", "count", "target_skill", "confidence"]


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"polars", "parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    deps=["skill_bank_source"],
    description="What went wrong in the sessions of the round, with evidence; no LLM.",
    check_specs=[dg.AssetCheckSpec("finding_schema", asset="session_findings", blocking=True)],
)
def session_findings(
    context: dg.AssetExecutionContext,
    rounds: RoundsResource,
    skill_bank: SkillBankResource,
    detectors: DetectorsResource,
    trajectories: pl.DataFrame,
    segments: pl.DataFrame,
    token_usage: pl.DataFrame,
) -> Results:
    """Look for patterns of trouble in the sessions, with the skills' texts as the round read them."""
    bank = skill_bank.read_by(rounds.manifest(context))
    texts = {
        (ref.name, name): text for ref in bank.skills() for name, text in bank.sections(ref.name).items()
    }
    chosen = detectors.chosen()
    found = find_in_sessions(
        trajectories,
        segments,
        skills=texts,
        usage=usage_by_step(token_usage, trajectories),
        detectors=chosen,
    )
    yield _findings(found, {"detectors": [one.name for one in chosen]})


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"polars", "parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    description="What the training metrics show, and the setting that each finding points to.",
    check_specs=[dg.AssetCheckSpec("finding_schema", asset="training_findings", blocking=True)],
)
def training_findings(
    training_metrics: pl.DataFrame,
    rollout_trajectories: pl.DataFrame,
    training_config: pl.DataFrame,
) -> Results:
    """Diagnose the run. What proposes never sees the held-out scores of the report."""
    settings = config_from_frame(training_config).model_dump()
    nothing = pl.DataFrame(schema=EVALUATION_SCHEMA)
    found = find_in_training(training_metrics, rollout_trajectories, nothing, settings)
    yield _findings(found, {"diagnoses": [one.name for one in default_diagnoses()]})


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"markdown", "html"},
    partitions_def=EVOLUTION_ROUNDS,
    ins={name: dg.AssetIn() for name in TOLD},
    description="The round for a lead who has a minute: one HTML file and its Markdown.",
)
def analysis_report(
    context: dg.AssetExecutionContext,
    rounds: RoundsResource,
    skill_bank: SkillBankResource,
    warehouse: WarehouseResource,
    **frames: pl.DataFrame,
) -> dg.MaterializeResult[pl.DataFrame]:
    """Write the report of the round; made again, it tells what became of its patches since."""
    manifest = rounds.manifest(context)
    inputs = report_inputs(
        manifest, frames, store=rounds.store(), warehouse=warehouse.store(), ledger=skill_bank.ledger()
    )
    report = render_report(inputs)
    folder = rounds.path("reports", manifest.key)
    write_atomic(folder / "report.md", report.markdown.encode())
    write_atomic(folder / "report.html", report.html.encode())
    path = rounds.relative(folder / "report.html")
    plots = "\n\n".join(picture(png, name) for name, png in report.figures.items())
    return dg.MaterializeResult(
        value=pl.DataFrame({"path": [path], "markdown": [report.markdown]}),
        metadata={
            "html": dg.MetadataValue.path(folder / "report.html"),
            "markdown": dg.MetadataValue.md(report.markdown),
            "plots": dg.MetadataValue.md(plots),
        },
    )


def _findings(found: pl.DataFrame, made_by: Mapping[str, list[str]]) -> dg.MaterializeResult[pl.DataFrame]:
    return dg.MaterializeResult(
        value=found,
        metadata={
            **numbers({"findings": found.height}),
            "kinds": counts(found, "kind"),
            "made_by": dg.MetadataValue.json(dict(made_by)),
            "findings_table": table(found, SHOWN),
        },
        check_results=[check("finding_schema", schema_problems(found, FINDING_SCHEMA, unique="finding_id"))],
    )
