"""What the report of a round is told: its frames, the rounds before it, and what became of its patches since.

A report that is made again tells what came after it was made first; all else is as it was.
"""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from agent_evo_dagster.analysis.comparison import COMPARISON_SCHEMA
from agent_evo_dagster.analysis.report import ReportInputs
from agent_evo_dagster.analysis.types import TREND_SCHEMA
from agent_evo_dagster.analysis.views.policy import trend_rows
from agent_evo_dagster.analysis.views.training import training_rows
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.frames import with_result_hashes
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.life import LIFE_SCHEMA, lives
from agent_evo_dagster.rounds.costs import analyst_spent, costs
from agent_evo_dagster.rounds.not_proposed import not_proposed
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.training.config_sources import config_from_frame
from agent_evo_dagster.warehouse import Warehouse

# The assets that the report tells of.
TOLD = (
    "trajectories",
    "segments",
    "quarantined_lines",
    "capture_coverage",
    "token_usage",
    "session_findings",
    "training_findings",
    "training_config",
    "training_run",
    "training_metrics",
    "rollout_trajectories",
    "policy_evaluation",
    "skill_patches",
    "patch_evaluation",
    "patch_replay",
    "skill_rollbacks",
    "patch_decisions",
    "skill_versions",
)
MOST_EARLIER = 60  # rounds that the trend goes back; the page over all rounds has more
Frames = Mapping[str, pl.DataFrame]


def report_inputs(
    manifest: RoundManifest, frames: Frames, *, store: RoundStore, warehouse: Warehouse, ledger: Ledger
) -> ReportInputs:
    """The inputs of the report of one round; `frames` are those of TOLD, by name.

    Raises:
        DecisionError: the record of decisions is not whole.
        RoundError: what its analyst took, or what it did not propose, cannot be read.
        PatchError: a patch does not belong to the text that is stored beside it.
    """
    earlier = store.earlier(manifest.key)[-MOST_EARLIER:]
    return ReportInputs(
        round_key=manifest.key,
        number=manifest.number,
        parent=goes_on_from(manifest, frames["training_run"]),
        opened_at=manifest.opened_at,
        request=manifest.request,
        seed=manifest.seed,
        policy=manifest.policy,
        steps=frames["trajectories"],
        segments=frames["segments"],
        quarantine=frames["quarantined_lines"],
        coverage=frames["capture_coverage"],
        session_findings=frames["session_findings"],
        training_findings=frames["training_findings"],
        metrics=frames["training_metrics"],
        rollouts=frames["rollout_trajectories"],
        evaluation=frames["policy_evaluation"],
        patches=with_result_hashes(frames["skill_patches"]),
        patch_evaluation=frames["patch_evaluation"],
        patch_decisions=frames["patch_decisions"],
        replays=frames["patch_replay"],
        rollbacks=frames["skill_rollbacks"],
        life=whole_lives(ledger, store, warehouse),
        trend=_trend(earlier, warehouse),
        training_trend=_training_trend(earlier, warehouse),
        settings=frames["training_config"],
        compiled=frames["skill_versions"],
        checkpoints=checkpoints(manifest, frames["training_run"], frames["training_config"]),
        costs=costs(manifest, frames, analyst_spent(store, manifest.key)),
        not_proposed=not_proposed(store, manifest.key),
        operator=manifest.operated.line() if manifest.operated else "",
    )


def stored_inputs(settings: Settings, key: str) -> ReportInputs:
    """The inputs of the report of a round, from what it stored and from today's record.

    Raises:
        RoundError: it is not open, or what its analyst took or it did not propose cannot be read.
        WarehouseError: one of its frames is not stored.
        DecisionError: the record of decisions is not whole.
        PatchError: a patch does not belong to the text that is stored beside it.
    """
    store, warehouse = RoundStore(settings.rounds), Warehouse(settings.warehouse)
    manifest = store.load(key)
    frames = {name: warehouse.read((name,), key) for name in TOLD}
    ledger = ledger_of(settings.bank_path)
    return report_inputs(manifest, frames, store=store, warehouse=warehouse, ledger=ledger)


def whole_lives(ledger: Ledger, store: RoundStore, warehouse: Warehouse) -> pl.DataFrame:
    """What the record says of every patch, and which later rounds replayed it (LIFE_SCHEMA), by time."""
    stored = set(warehouse.rounds(("patch_replay",)))
    replays = [
        {
            "patch_id": name,
            "at": manifest.opened_at,
            "event": "replay",
            "by": None,
            "reason": f"{verdict}: {reason}",
            "round": manifest.key,
        }
        for manifest in store.all()
        if manifest.key in stored
        for name, verdict, reason in warehouse.read(("patch_replay",), manifest.key)
        .select("patch_id", "verdict", "reason")
        .iter_rows()
    ]
    replayed = pl.DataFrame(replays, schema=LIFE_SCHEMA, orient="row")
    return pl.concat([lives((*ledger.records(), *ledger.implied())), replayed]).sort(
        "at", maintain_order=True
    )


def _trend(earlier: list[RoundManifest], warehouse: Warehouse) -> pl.DataFrame:
    """The evaluations of the rounds before that have one (TREND_SCHEMA)."""
    asset = ("policy_evaluation",)
    done = set(warehouse.rounds(asset))
    rows = [
        trend_rows(
            manifest.key,
            manifest.number,
            warehouse.read(asset, manifest.key),
            goes_on_from(manifest, _run(manifest.key, warehouse)),
        )
        for manifest in earlier
        if manifest.key in done
    ]
    return pl.concat([pl.DataFrame(schema=TREND_SCHEMA), *rows])


def _run(key: str, warehouse: Warehouse) -> pl.DataFrame:
    asset = ("training_run",)
    return warehouse.read(asset, key) if warehouse.path(asset, key).is_file() else pl.DataFrame()


def _training_trend(earlier: list[RoundManifest], warehouse: Warehouse) -> pl.DataFrame:
    """How training went in the rounds before (COMPARISON_SCHEMA), by their numbers."""
    asset = ("training_metrics",)
    done = set(warehouse.rounds(asset))
    rows = [
        training_rows(manifest.key, warehouse.read(asset, manifest.key))
        for manifest in earlier
        if manifest.key in done
    ]
    return pl.concat([pl.DataFrame(schema=COMPARISON_SCHEMA), *rows])


def goes_on_from(manifest: RoundManifest, run: pl.DataFrame) -> str | None:
    """The round whose model this one trains; None where it starts from a base.

    A round that trains another model than its parent starts from that model's base. Where its training,
    `run`, is not stored (no rows), its parent is what it was opened to go on from.
    """
    parent = manifest.parent
    if parent is None or (run.height and run["init_sha256"][0] != parent.sha256):
        return None
    return parent.round


def checkpoints(manifest: RoundManifest, run: pl.DataFrame, config: pl.DataFrame) -> dict[str, str]:
    """The weights that the round started from and those that it made, by hash."""
    start = run["init_sha256"][0]
    base = Path(config_from_frame(config).model).name  # a model of one's own is a folder of this machine
    origin = goes_on_from(manifest, run) or f"base of the model {base}"
    return {f"start ({origin})": start, "trained": run["checkpoint_sha256"][0]}
