"""Banks on their way through packages: patches judged, decided and adopted, as rounds leave them."""

from datetime import UTC, datetime

from agent_evo_dagster.patches.change import diff_hash
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.records import DecisionRecord
from agent_evo_dagster.patches.types import GateVerdict, Patch
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.ids import parse_id
from agent_evo_dagster.skills.packages.release import Asked, Released, release
from tests.agent_evo_dagster.skills.banks import patch

AT = datetime(2026, 1, 2, tzinfo=UTC)
MORE = patch("First.\n", "More.\n")


def decided(
    bank: SkillBank,
    item: Patch = MORE,
    *,
    gate: GateVerdict | None = GateVerdict.ACCEPT,
    decision: str = "approve",
) -> DecisionRecord:
    """The patch decided on, on record."""
    record = DecisionRecord.model_validate(
        {
            "patch_id": item.id,
            "diff_hash": diff_hash(item),
            "decision": decision,
            "by": "policy:auto",
            "gate_verdict": gate,
            "reason": "better beyond its interval",
            "round": item.source_round,
            "at": AT,
        }
    )
    return ledger_of(bank.path).decide(record)


def adopted(
    bank: SkillBank, item: Patch = MORE, *, gate: GateVerdict | None = GateVerdict.ACCEPT
) -> SkillBank:
    """The bank with the patch approved and adopted."""
    record = decided(bank, item, gate=gate)
    report = adopt(bank, [item])
    ledger_of(bank.path).record_adoption(record, {s.name: s.sha256 for s in report.compiled}, at=AT)
    return SkillBank.open(bank.path)


def asked(name: str, *, parent: str | None = None, profile: str | None = None) -> Asked:
    """What is to be frozen, by Ada."""
    return Asked(parse_id(name), "Ada", "a test", AT, parent=parent, profile=profile)


def freeze(
    bank: SkillBank,
    name: str,
    *,
    parent: str | None = None,
    profile: str | None = None,
    dry_run: bool = False,
) -> Released:
    """Freeze a package by Ada."""
    return release(bank, asked(name, parent=parent, profile=profile), dry_run=dry_run)


def proved(bank: SkillBank) -> SkillBank:
    """Stable without the patch, experimental with it, and that promoted."""
    freeze(bank, "stable/v1")
    bank = adopted(bank)
    freeze(bank, "experimental/maths/v1")
    freeze(bank, "vertical/maths/v1", parent="experimental/maths/v1")
    return bank
