"""The assets of patches: what is proposed, and what the gate found. Not what was decided."""

from dataclasses import asdict

import dagster as dg
import polars as pl

from agent_evo_dagster.analysts.types import Analysis, Material
from agent_evo_dagster.patches.examiners import examine
from agent_evo_dagster.patches.frames import row_patch
from agent_evo_dagster.patches.gate import cases, judge_patches, probed
from agent_evo_dagster.patches.propose import propose_patches, to_frame
from agent_evo_dagster.patches.replay_self_test import replay_self_test
from agent_evo_dagster.patches.self_test import self_test
from agent_evo_dagster.patches.types import PATCH_SCHEMA
from agent_evo_dagster.rounds.costs import keep_analyst
from agent_evo_dagster.rounds.making import not_taken_up
from agent_evo_dagster.rounds.not_proposed import keep_not_proposed
from agent_evo_dagster.rounds.replaying import Replays
from agent_evo_dagster.training.config_sources import config_from_frame
from assets.judging import Bench, examiners, ran
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Metadata, Results, check, diff, numbers, table
from assets.probe import ProbePlan, Prober
from assets.schema import schema_problems
from resources.analyst import AnalystResource
from resources.judges import JudgesResource, LlmJudgeResource
from resources.rollouts import RolloutJudgeResource
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource
from resources.trainer import TrainerResource
from resources.warehouse import WarehouseResource

GROUP = "gate"
JUDGED = ["patch_id", "judge", "verdict", "n", "baseline", "candidate", "difference", "low", "high", "reason"]


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    deps=["skill_bank_source"],
    description="Small typed edits of skill sections that the findings ask for; proposed, not applied.",
    check_specs=[dg.AssetCheckSpec("patch_schema", asset="skill_patches", blocking=True)],
)
def skill_patches(
    context: dg.AssetExecutionContext,
    rounds: RoundsResource,
    skill_bank: SkillBankResource,
    analyst: AnalystResource,
    warehouse: WarehouseResource,
    session_findings: pl.DataFrame,
    training_findings: pl.DataFrame,
) -> Results:
    """Take up what people had made of patches, or turn findings into one, by rules or an analyst's drafts."""
    manifest = rounds.manifest(context)
    bank, ledger = skill_bank.read_by(manifest), skill_bank.ledger()
    targets = bank.targets()
    sections = {(ref.name, name): text for ref in targets for name, text in bank.sections(ref.name).items()}
    groups = {ref.name: ref.group for ref in targets}
    protected = {(ref.name, name) for ref in targets for name in bank.manifest(ref).protected}
    findings = pl.concat([session_findings, training_findings])
    analysis = analyst.chosen().analyse(Material(findings, sections, groups, protected), context.log.info)
    keep_analyst(rounds.store(), manifest.key, analysis.run)
    proposals = propose_patches(
        findings,
        sections,
        groups,
        round_key=manifest.key,
        created=manifest.opened_at,
        ledger=ledger,
        active=bank.active().keys(),
        protected=protected,
        drafts=analysis.drafts,
        made=not_taken_up(ledger, warehouse.store(), manifest.key, manifest.opened_at),
    )
    keep_not_proposed(rounds.store(), manifest.key, proposals.skipped)
    frame = to_frame(proposals.patches, sections)
    skipped = [{"finding": s.finding_id, "setting": s.setting, "reason": s.reason} for s in proposals.skipped]
    yield dg.MaterializeResult(
        value=frame,
        metadata={
            **numbers({"patches": frame.height, "skipped": len(skipped)}),
            **_ran(analysis),
            "diff": diff("\n".join(frame["diff"])),
            "not_proposed": dg.MetadataValue.json(skipped),
        },
        check_results=[check("patch_schema", schema_problems(frame, PATCH_SCHEMA, unique="patch_id"))],
    )


def _ran(analysis: Analysis) -> Metadata:
    """Which analyst ran, what it took and what it saw itself."""
    run = analysis.run
    shown: Metadata = {"analyst": dg.MetadataValue.text(run.analyst)}
    if run.analyst == "rules":
        return shown
    usage = run.usage
    return shown | {
        **numbers({"analyst_calls": usage.calls, "analyst_tokens": usage.tokens}),
        **numbers({"analyst_cost_usd": usage.cost_usd, "analyst_seconds": usage.seconds}),
        "analyst_model": dg.MetadataValue.text(run.model or "the client's own choice"),
        "analyst_answered_by": dg.MetadataValue.text(run.told or "not told"),
        "analyst_estimate": dg.MetadataValue.text(
            run.estimate.line() if run.estimate else "nothing was asked"
        ),
        "analyst_answer": dg.MetadataValue.json(
            {"recorded": run.recorded, "repaired": run.repaired, "request": run.request}
        ),
        "analyst_findings": dg.MetadataValue.json([asdict(one) for one in analysis.observations]),
    }


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"pytorch", "parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    pool="training",
    deps=["checkpoint"],
    description="The gate: each patch against the skills as they are, paired: probed, or replayed.",
    check_specs=[
        dg.AssetCheckSpec("gate_verdict", asset="patch_evaluation", description="Every patch is accepted.")
    ],
)
def patch_evaluation(
    context: dg.AssetExecutionContext,
    config: ProbePlan,
    rounds: RoundsResource,
    skill_bank: SkillBankResource,
    judges: JudgesResource,
    llm_judge: LlmJudgeResource,
    rollout_judge: RolloutJudgeResource,
    trainer: TrainerResource,
    warehouse: WarehouseResource,
    training_config: pl.DataFrame,
    rollout_trajectories: pl.DataFrame,
    skill_patches: pl.DataFrame,
) -> Results:
    """Probe every patch that changes settings; others are examined as asked for, or replayed."""
    self_test()
    replay_self_test()
    manifest = rounds.manifest(context)
    bank = skill_bank.read_by(manifest)
    targets = {ref.name for ref in bank.targets()}
    folder = rounds.path("runs", manifest.key)
    replay = Replays(warehouse.store(), manifest.key).judge_of(skill_patches)
    bench = Bench(judges.names, llm_judge, rollout_judge, manifest, bank, folder, replay)
    examined, runs = examine(cases(skill_patches), examiners(bench), targets, context.log.info)
    prober = Prober(
        context=context,
        plan=config,
        manifest=manifest,
        bank=bank,
        asked=config_from_frame(training_config),
        folder=folder,
        trainer=trainer,
    )
    judged = [row_patch(row) for row in skill_patches.iter_rows(named=True)]
    measured = [patch for patch, settings in judged if probed(settings) and patch.skill in targets]
    probes = {patch.id: prober.probe(patch) for patch in measured}
    frame = judge_patches(
        skill_patches,
        {name: probe.rows for name, probe in probes.items()},
        facts={name: probe.facts for name, probe in probes.items()},
        proposing=set(rollout_trajectories["task_id"]),
        targets=targets,
        more=[*examined, replay],
    )
    yield _judged(frame, ran(runs), wall_seconds=sum(probe.wall_seconds for probe in probes.values()))


def _judged(
    frame: pl.DataFrame, runs: Metadata, *, wall_seconds: float
) -> dg.MaterializeResult[pl.DataFrame]:
    refused = frame.filter(pl.col("verdict") != "accept")
    problems = [f"{patch}: {verdict}" for patch, verdict in refused.select("patch_id", "verdict").iter_rows()]
    return dg.MaterializeResult(
        value=frame,
        metadata={
            **numbers({"judged": frame.height, "accepted": frame.height - refused.height}),
            **numbers({"wall_seconds": wall_seconds, "difference": frame["difference"].mean()}),
            "verdicts": table(frame, JUDGED),
            **runs,
        },
        check_results=[check("gate_verdict", problems, warn=True)],
    )
