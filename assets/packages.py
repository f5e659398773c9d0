"""The assets of packages: the frozen round, and the registry as Dagster observes it. Archives have a job."""

import dagster as dg
import polars as pl

from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.rounds.packaging import FinishedRound, TaskAbout, freeze_round
from agent_evo_dagster.rounds.status import RoundStatus
from agent_evo_dagster.skills.packages.frozen import INDEX, Frozen
from agent_evo_dagster.skills.packages.registry import Registry
from agent_evo_dagster.training.config_sources import config_from_frame
from assets.observed import Observations, observed
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Metadata, numbers, table
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource
from resources.trainer import TrainerResource

GROUP = "packages"
PACKAGES = pl.Schema({"package": pl.String})


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"json"},
    partitions_def=EVOLUTION_ROUNDS,
    description="The finished round, frozen: configuration, weights, rollouts, skills, report, environment.",
)
def skill_packages(  # one input per frame that it freezes
    context: dg.AssetExecutionContext,
    rounds: RoundsResource,
    skill_bank: SkillBankResource,
    trainer: TrainerResource,
    round_status: pl.DataFrame,
    training_run: pl.DataFrame,
    training_config: pl.DataFrame,
    policy_evaluation: pl.DataFrame,
    patch_decisions: pl.DataFrame,
    skill_versions: pl.DataFrame,
    analysis_report: pl.DataFrame,
) -> dg.MaterializeResult[pl.DataFrame]:
    """Freeze the round once nothing in it waits for a person."""
    manifest = rounds.manifest(context)
    status = RoundStatus.model_validate_json(round_status["json"][0])
    if status.status == "waiting":
        waits = "a patch waits for a person; the package is frozen when the round is complete"
        return dg.MaterializeResult(
            value=pl.DataFrame(schema=PACKAGES), metadata={"packages": 0, "state": waits}
        )
    frames = {
        "training_config": training_config,
        "policy_evaluation": policy_evaluation,
        "patch_decisions": patch_decisions,
        "skill_versions": skill_versions,
        "analysis_report": analysis_report,
    }
    bank = skill_bank.living().path
    model = config_from_frame(training_config).model
    frozen = freeze_round(
        bank,
        FinishedRound(
            manifest=manifest,
            status=status,
            frames=frames,
            run_dir=rounds.path(training_run["run_dir"][0]),
            init=trainer.starting_policy(rounds.path(), manifest.parent, model),
            bank=skill_bank.read_by(manifest),
        ),
    )
    return dg.MaterializeResult(
        value=pl.DataFrame({"package": [frozen.path.relative_to(bank).as_posix()]}, schema=PACKAGES),
        data_version=dg.DataVersion(sha256_file(frozen.path / INDEX)),
        metadata={"packages": 1, "state": "frozen" if frozen.made else "was frozen before", **told(frozen)},
    )


def told(frozen: Frozen) -> Metadata:
    """What a reader of a task package asks first: where it is, what it holds, how to make it again."""
    about = TaskAbout.model_validate(frozen.package.about)
    name = f"task-packages/{frozen.path.name}"
    files = pl.DataFrame(
        [
            (path, (frozen.path / path).stat().st_size, sha256[:16])
            for path, sha256 in sorted(frozen.package.files.items())
        ],
        schema={"file": pl.String, "bytes": pl.Int64, "sha256": pl.String},
        orient="row",
    )
    return {
        **numbers({"files": files.height, "bytes": int(files["bytes"].sum()), "seed": about.training_seed}),
        "folder": dg.MetadataValue.path(frozen.path),
        "contents": table(files, files.columns, limit=200),
        "dataset": dg.MetadataValue.json(about.dataset.model_dump(mode="json")),
        "environment": dg.MetadataValue.json({"packages": about.packages, "hardware": about.hardware}),
        "verify": dg.MetadataValue.md(f"`agent-evo task-package verify {name}`"),
        "reproduce": dg.MetadataValue.md(f"`agent-evo task-package reproduce {name}`"),
    }


@observed(
    dg.AssetSpec(
        "package_registry",
        group_name=GROUP,
        kinds={"json"},
        description="registry.json of the bank: which packages there are, and which are current.",
    )
)
def package_registry(skill_bank: SkillBankResource) -> Observations:
    """Observe the registry; its version is the hash of what it says, so a switch shows."""
    registry = skill_bank.packages()
    yield dg.ObserveResult(data_version=dg.DataVersion(registry.digest()), metadata=listed(registry))


def listed(registry: Registry) -> Metadata:
    """The registry as tables: what is current, what there is, and the last switches."""
    current = pl.DataFrame(
        sorted(registry.current.items()), schema={"slot": pl.String, "package": pl.String}, orient="row"
    )
    packages = pl.DataFrame(
        [(name, entry.parent, entry.sha256[:16]) for name, entry in registry.packages.items()],
        schema={"package": pl.String, "parent": pl.String, "sha256": pl.String},
        orient="row",
    )
    switches = pl.DataFrame(
        [
            (item.slot, item.action, item.before, item.after, item.by, item.reason)
            for item in registry.history
        ],
        schema=dict.fromkeys(("slot", "action", "before", "after", "by", "reason"), pl.String),
        orient="row",
    )
    return {
        **numbers({"packages": packages.height, "switches": switches.height}),
        "current": table(current, current.columns),
        "registered": table(packages.reverse(), packages.columns, limit=100),
        "history": table(switches.reverse(), switches.columns, limit=100),
    }
