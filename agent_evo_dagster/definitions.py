"""The composition root: every room meets here. The only module of the package that knows Dagster."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import dagster as dg

from agent_evo_dagster.settings import Settings, read_settings
from assets.analysis import analysis_report, session_findings, training_findings
from assets.archives import lineage_archive
from assets.capture import hook_event_files, read_spool
from assets.decisions import patch_decisions
from assets.evaluation import policy_evaluation
from assets.packages import package_registry, skill_packages
from assets.patches import patch_evaluation, skill_patches
from assets.replay import patch_replay
from assets.rollbacks import skill_rollbacks
from assets.rounds import round_lineage, round_status
from assets.segments import segments
from assets.skills import build_compiled_skills, skill_bank_source
from assets.training import checkpoint, rollout_trajectories, training_config, training_metrics, training_run
from assets.trajectories import trajectories
from automation.console import round_console
from automation.jobs import build_archive_job, build_jobs
from automation.outcomes import step_failed, step_made
from automation.schedules import build_nightly
from automation.sensors import build_decision_sensor, build_spool_sensor
from resources.analyst import AnalystResource
from resources.detectors import DetectorsResource
from resources.judges import JudgesResource, LlmJudgeResource
from resources.rollouts import RolloutJudgeResource
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource
from resources.spool import SpoolResource
from resources.trainer import TrainerResource
from resources.warehouse import WarehouseIOManager, WarehouseResource

PROJECT = Path(__file__).resolve().parent.parent
TEMPLATE = PROJECT / "skill_bank"
# Settings that every resource has that asks a model.
_ASKED: Final = ("model", "url", "key_env", "money", "tokens", "seconds", "output_tokens")


def project_settings() -> Settings:
    """The settings of this checkout: the home is in it unless the environment names another."""
    return read_settings(PROJECT / ".agent_evo")


def build_resources(settings: Settings) -> dict[str, object]:
    """The resources that assets ask for by name."""
    trainer_python = str(settings.trainer_python) if settings.trainer_python else None
    return {
        "io_manager": WarehouseIOManager(root=str(settings.warehouse)),
        "warehouse": WarehouseResource(root=str(settings.warehouse)),
        "spool": SpoolResource(
            path=str(settings.spool),
            home=str(settings.root),
            redact=list(settings.redact),
            prices=str(settings.prices) if settings.prices else None,
        ),
        "rounds": RoundsResource(
            home=str(settings.root),
            policy=settings.policy,
            expiry_days=settings.expiry_days,
            rollback=settings.rollback,
            redact=list(settings.redact),
        ),
        "skill_bank": SkillBankResource(
            path=str(settings.bank_path), template=str(TEMPLATE), snapshots=str(settings.bank_snapshots)
        ),
        "analyst": AnalystResource(
            **_asking(settings, "analyst", settings.analyses),
            analyst=settings.analyst,
            calls=settings.analyst_calls,
        ),
        "judges": JudgesResource(names=list(settings.judges)),
        "llm_judge": LlmJudgeResource(
            **_asking(settings, "judge", settings.analyses),
            service=settings.judge_service,
            calls=settings.judge_calls,
            samples=settings.judge_samples,
        ),
        "rollout_judge": RolloutJudgeResource(
            **_asking(settings, "rollout", settings.rollouts),
            tasks=str(settings.tasks),
            reader=settings.rollout_reader,
            samples=settings.rollout_samples,
            workers=settings.rollout_workers,
        ),
        "detectors": DetectorsResource(own=list(settings.detectors)),
        "trainer": TrainerResource(
            python=trainer_python,
            deployment=str(settings.deployment) if settings.deployment else None,
            heartbeat_timeout=settings.heartbeat_timeout,
            time_limit=settings.time_limit,
        ),
    }


def _asking(settings: Settings, who: str, folder: Path) -> dict[str, Any]:
    """What each resource that asks a model is given, from the settings whose names begin with `who`."""
    prices = str(settings.prices) if settings.prices else None
    own = {name: getattr(settings, f"{who}_{name}") for name in _ASKED}
    return {"folder": str(folder), "prices": prices, **own}


def build_defs(
    settings: Settings | None = None, resource_overrides: Mapping[str, object] | None = None
) -> dg.Definitions:
    """Fresh definitions; tests pass settings and resources of their own."""
    chosen = settings or project_settings()
    bank = chosen.bank_path if chosen.bank_path.exists() else TEMPLATE
    assets: list[dg.AssetsDefinition | dg.AssetSpec] = [
        hook_event_files,
        read_spool,
        trajectories,
        segments,
        session_findings,
        skill_bank_source,
        training_config,
        training_run,
        checkpoint,
        rollout_trajectories,
        training_metrics,
        policy_evaluation,
        training_findings,
        skill_patches,
        patch_evaluation,
        patch_replay,
        skill_rollbacks,
        patch_decisions,
        build_compiled_skills(bank),
        analysis_report,
        round_status,
        skill_packages,
        package_registry,
        round_lineage,
        lineage_archive,
    ]
    return dg.Definitions(
        assets=[_told(asset) for asset in assets],
        jobs=[*build_jobs(), build_archive_job()],
        schedules=[build_nightly(chosen, TEMPLATE)],
        sensors=[build_spool_sensor(chosen, TEMPLATE), build_decision_sensor(chosen, TEMPLATE)],
        loggers={"console": round_console()},
        resources={**build_resources(chosen), **(resource_overrides or {})},
        executor=dg.in_process_executor if chosen.executor == "in_process" else dg.multiprocess_executor,
    )


def _told(asset: dg.AssetsDefinition | dg.AssetSpec) -> dg.AssetsDefinition | dg.AssetSpec:
    """The asset, what becomes of which is put on record beside its round; nothing here makes a spec."""
    return asset.with_hooks({step_failed, step_made}) if isinstance(asset, dg.AssetsDefinition) else asset


defs = build_defs()
