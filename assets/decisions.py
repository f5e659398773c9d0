"""The asset of decisions: what people decided in the launchpad, what is on record, and what still waits."""

from collections.abc import Mapping
from datetime import UTC, datetime

import dagster as dg
import polars as pl
from pydantic import Field

from agent_evo_dagster.analysis.deciding import to_decide
from agent_evo_dagster.patches.approvals import DecisionRequest
from agent_evo_dagster.patches.decisions import decide
from agent_evo_dagster.patches.frames import patches_from_frame
from agent_evo_dagster.rounds.adoption import changed_sections
from agent_evo_dagster.rounds.deciding import Desk
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Metadata, Results, check, diff, numbers, table
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource
from resources.warehouse import WarehouseResource

SHOWN = ["patch_id", "decision", "gate_verdict", "by", "reason", "decided_at"]
EVIDENCE = ["patch_id", "judge", "verdict", "n", "difference", "low", "high", "reason"]


class Verdicts(dg.Config):
    """What a person decides in the launchpad; empty: nothing, the record and the policy alone."""

    approve: list[str] = Field(default_factory=list, description="Whole ids of patches to approve.")
    reject: list[str] = Field(default_factory=list, description="Whole ids of patches to reject.")
    withdraw: list[str] = Field(default_factory=list, description="Whole ids of patches to take back.")
    by: str = Field("", description="Who decides: your name, as it will stand in the record.")
    reason: str = Field("", description="Why, for whoever reads the record.")
    override: bool = Field(False, description="Approve against the gate; it is recorded so.")

    def request(self) -> DecisionRequest | None:
        """What the desk is asked; None where nothing is named."""
        if not (self.approve or self.reject or self.withdraw or self.by or self.reason):
            return None
        return DecisionRequest(**self.model_dump())


@dg.asset(
    group_name="gate",
    owners=[OWNER],
    kinds={"parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    deps=["skill_rollbacks"],  # what goes out goes first: nothing is approved on top of it
    description="The decision in force on each patch, from the bank's append-only record.",
    check_specs=[
        dg.AssetCheckSpec("decided", asset="patch_decisions", description="No patch waits for a person.")
    ],
)
def patch_decisions(
    context: dg.AssetExecutionContext,
    config: Verdicts,
    rounds: RoundsResource,
    skill_bank: SkillBankResource,
    warehouse: WarehouseResource,
    skill_patches: pl.DataFrame,
    patch_evaluation: pl.DataFrame,
) -> Results:
    """Record what a person decides here, then let the policy decide what no one has decided yet."""
    manifest, bank, now = rounds.manifest(context), skill_bank.living(), datetime.now(UTC)
    request = config.request()
    if request is not None:
        policy = rounds.policy_of(manifest)
        desk = Desk(bank, warehouse.store(), rounds.store(), policy, only_round=manifest.key)
        desk.carry_out(request, now)
    terms = rounds.terms(changed_sections(bank, patches_from_frame(skill_patches)))
    frame = decide(
        rounds.policy_of(manifest),
        skill_patches,
        patch_evaluation,
        skill_bank.ledger(),
        now,
        terms=terms,
    )
    waiting = frame.filter(pl.col("decision") == "wait")
    yield dg.MaterializeResult(
        value=frame,
        metadata={
            **numbers({"decisions": frame.height, "waiting": waiting.height}),
            "decisions_table": table(frame, SHOWN),
            "evidence": table(patch_evaluation, EVIDENCE),
            "findings": dg.MetadataValue.json(_findings(skill_patches)),
            "diff": diff("\n".join(skill_patches["diff"])),
            **_to_decide(waiting),
        },
        check_results=[
            check(
                "decided",
                [
                    f"{name} waits: {reason}"
                    for name, reason in waiting.select("patch_id", "reason").iter_rows()
                ],
                warn=True,
            )
        ],
    )


def _findings(patches: pl.DataFrame) -> Mapping[str, list[str]]:
    return {name: list(findings) for name, findings in patches.select("patch_id", "findings").iter_rows()}


def _to_decide(waiting: pl.DataFrame) -> Metadata:
    """The commands, and the same for the launchpad of the job `adopt`."""
    asked = list(waiting.select("patch_id", "gate_verdict").iter_rows())
    names = [name for name, _ in asked]
    lines = [f"    {line}" for name, verdict in asked for line in to_decide(name, verdict)]
    config = {"approve": names, "by": "NAME", "reason": "TEXT"}
    run_config = {"ops": {"patch_decisions": {"config": config}}} if names else {}
    return {
        "to_decide": dg.MetadataValue.md("\n".join(lines) or "nothing waits"),
        "launchpad": dg.MetadataValue.json(run_config),
    }
