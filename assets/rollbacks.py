"""The asset of rollbacks: what goes out of the skills again because the round got worse with it."""

from datetime import UTC, datetime

import dagster as dg
import polars as pl

from agent_evo_dagster.rounds.regression import Undoing, entered_since, outcome_of
from agent_evo_dagster.rounds.types import RoundManifest
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Results, check, numbers, table
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource


@dg.asset(
    group_name="gate",
    owners=[OWNER],
    kinds={"parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    description="Patches that came in since the parent round and go out again: the model got worse.",
    check_specs=[
        dg.AssetCheckSpec(
            "held", asset="skill_rollbacks", description="The model is not worse beyond the interval."
        )
    ],
)
def skill_rollbacks(
    context: dg.AssetExecutionContext,
    rounds: RoundsResource,
    skill_bank: SkillBankResource,
    policy_evaluation: pl.DataFrame,
) -> Results:
    """Take out what the policy got worse with, once, while the round is made for the first time."""
    manifest = rounds.manifest(context)
    outcome = outcome_of(policy_evaluation)
    again = rounds.store().finished(manifest.key)
    undoing = Undoing(
        manifest.key,
        skill_bank.living(),
        skill_bank.ledger(),
        "off" if again else rounds.scope(),
        datetime.now(UTC),
    )
    frame = undoing.undo(outcome, _suspects(rounds, skill_bank, manifest))
    told = [f"{name} {result}: {why}" for name, result, why in _results(frame)]
    yield dg.MaterializeResult(
        value=frame,
        metadata={
            **numbers({"rolled_back": frame.filter(pl.col("result") == "rolled_back").height}),
            **numbers({"difference": outcome.difference, "low": outcome.low, "high": outcome.high}),
            "accuracy": outcome.told,
            "patches": table(frame, frame.columns),
        },
        check_results=[check("held", [outcome.told, *told] if outcome.regressed else [], warn=True)],
    )


def _suspects(rounds: RoundsResource, skill_bank: SkillBankResource, manifest: RoundManifest) -> list[str]:
    """The patches that the round read and its parent did not; none for a round without a parent."""
    if manifest.parent is None:
        return []
    parent = rounds.store().load(manifest.parent.round)
    return list(entered_since(skill_bank.read_by(parent), skill_bank.read_by(manifest)))


def _results(frame: pl.DataFrame) -> list[tuple[str, str, str]]:
    return list(frame.select("patch_id", "result", "reason").iter_rows())
