"""The asset of replays: prose that waits, on the sessions that came since. No patch of the round itself."""

import dagster as dg
import polars as pl

from agent_evo_dagster.patches.replay_self_test import replay_self_test
from agent_evo_dagster.rounds.replaying import Replays
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, numbers, table
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource
from resources.warehouse import WarehouseResource

SHOWN = ["patch_id", "verdict", "n", "baseline", "candidate", "difference", "low", "high", "reason"]


@dg.asset(
    group_name="gate",
    owners=[OWNER],
    kinds={"parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    deps=["session_findings", "trajectories", "segments"],
    description="Prose of earlier rounds that waited when this one opened, replayed on sessions since.",
)
def patch_replay(
    context: dg.AssetExecutionContext,
    rounds: RoundsResource,
    skill_bank: SkillBankResource,
    warehouse: WarehouseResource,
) -> dg.MaterializeResult[pl.DataFrame]:
    """Replay what waits; a person decides on it."""
    replay_self_test()
    manifest = rounds.manifest(context)
    frame = Replays(warehouse.store(), manifest.key).waiting(skill_bank.ledger(), manifest.opened_at)
    return dg.MaterializeResult(
        value=frame, metadata={**numbers({"replayed": frame.height}), "replays": table(frame, SHOWN)}
    )
