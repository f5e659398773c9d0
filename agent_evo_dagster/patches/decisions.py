"""Decisions on judged patches: by policy, by a person, and whether one was made. Not the file's format."""

import unicodedata
from datetime import datetime
from pathlib import Path

import polars as pl

from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.change import diff_hash
from agent_evo_dagster.patches.document import idea_of
from agent_evo_dagster.patches.frames import row_patch
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.policies import policy_named
from agent_evo_dagster.patches.records import DecisionRecord
from agent_evo_dagster.patches.types import PATCH_DECISION_SCHEMA, GateVerdict, Patch
from agent_evo_dagster.settings import ApprovalPolicy

LEDGER_NAME = "decisions.jsonl"
_POLICY = "policy:"  # prefix of deciders that are no persons


def ledger_of(bank: Path) -> Ledger:
    """The ledger of a skill bank."""
    return Ledger(bank / LEDGER_NAME)


def decide(
    policy: ApprovalPolicy, patches: pl.DataFrame, evaluations: pl.DataFrame, ledger: Ledger, now: datetime
) -> pl.DataFrame:
    """The decision in force on each patch of a round (PATCH_DECISION_SCHEMA), in the order of `patches`.

    What the ledger holds stands; only an undecided patch is put to the policy. So the same round
    gives the same bytes again. `patches` is of PATCH_SCHEMA, `evaluations` of PATCH_EVALUATION_SCHEMA.

    Raises:
        DecisionError: a patch without a verdict of the gate, or a decision on other bytes.
        PatchError: a row of `patches` whose columns do not belong together.
    """
    judged = {row["patch_id"]: row for row in evaluations.iter_rows(named=True)}
    rows = [
        _decide_one(policy, row, judged.get(row["patch_id"]), ledger, now)
        for row in patches.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=PATCH_DECISION_SCHEMA, orient="row")


def _decide_one(
    policy: ApprovalPolicy,
    row: dict[str, object],
    judged: dict[str, object] | None,
    ledger: Ledger,
    now: datetime,
) -> dict[str, object]:
    patch, settings = row_patch(row)
    standing = ledger.decision(patch.id)
    if standing is not None:
        _same_bytes(standing, patch)
        return _decided(standing)
    if judged is None:
        raise DecisionError(
            f"{patch.id} has no verdict of the gate. Materialise patch_evaluation of its round first."
        )
    gate, rule = GateVerdict(str(judged["verdict"])), policy_named(policy)
    verdict, reason = rule.decide(gate, settings_only=settings is not None, gate_reason=str(judged["reason"]))
    if verdict == "wait":
        return _waiting(patch, gate, f"{_POLICY}{rule.name}", reason)
    record = _record(patch, verdict, gate, by=f"{_POLICY}{rule.name}", reason=reason, at=now)
    return _decided(ledger.decide(record))


def approve(
    ledger: Ledger,
    patch: Patch,
    *,
    gate: GateVerdict | None,
    by: str,
    reason: str,
    at: datetime,
    override: bool = False,
) -> DecisionRecord:
    """Record a person's approval.

    Raises:
        DecisionError: the gate did not let it pass and `override` is not given; or it was decided otherwise.
    """
    against = gate not in (GateVerdict.ACCEPT, GateVerdict.NEEDS_PERSON)
    if against and not override:
        found = "has not judged it" if gate is None else f"says {gate.value}"
        raise DecisionError(
            f"{patch.id} cannot be approved like this: the gate {found}. "
            f"Reject it, or approve it against the gate, on record, with --override."
        )
    record = _record(patch, "approve", gate, by=person(by), reason=reason_given(reason), at=at)
    return ledger.decide(record.model_copy(update={"override": against}))


def reject(
    ledger: Ledger, patch: Patch, *, gate: GateVerdict | None, by: str, reason: str, at: datetime
) -> DecisionRecord:
    """Record a person's rejection.

    Raises:
        DecisionError: it was decided otherwise.
    """
    return ledger.decide(_record(patch, "reject", gate, by=person(by), reason=reason_given(reason), at=at))


def require_approved(ledger: Ledger, patch: Patch) -> DecisionRecord:
    """The approval of exactly this patch; what compiles or adopts a patch calls this and trusts nothing else.

    Raises:
        DecisionError: none was made, it was rejected, or the approval was of other bytes.
    """
    record = ledger.decision(patch.id)
    place = f"{patch.id} for {patch.skill}#{patch.target_section}"
    if record is None:
        raise DecisionError(
            f"{place} is not approved: {ledger.path} holds no decision on it. Decide with: "
            f"{command('approve', patch.id)} (or reject)"
        )
    if record.decision != "approve":
        raise DecisionError(f"{place} is not approved: {record.by} rejected it: {record.reason}")
    _same_bytes(record, patch)
    return record


def command(action: str, patch_id: str) -> str:
    """The line that a person types to decide."""
    return f"agent-evo patches {action} {patch_id} --by NAME --reason TEXT"


def _record(
    patch: Patch, verdict: str, gate: GateVerdict | None, *, by: str, reason: str, at: datetime
) -> DecisionRecord:
    if at.tzinfo is None:
        raise DecisionError(
            f"{patch.id}: the time of the decision is {at} without a time zone. Give it in UTC."
        )
    return DecisionRecord.model_validate(
        {
            "patch_id": patch.id,
            "diff_hash": diff_hash(patch),
            "decision": verdict,
            "by": by,
            "gate_verdict": gate,
            "reason": reason[:2000],
            "round": patch.source_round,
            "idea": idea_of(patch),
            "at": at,
        }
    )


def _same_bytes(record: DecisionRecord, patch: Patch) -> None:
    if record.diff_hash != diff_hash(patch):
        raise DecisionError(
            f"The decision of {record.by} on {patch.id} was about {record.diff_hash[:12]}; this patch is "
            f"{diff_hash(patch)[:12]}. Restore the patch as it was decided on, or propose another."
        )


def person(name: str) -> str:
    """A name that can stand in the record, and is not a policy's.

    Raises:
        DecisionError: it is not.
    """
    plain = name.strip()
    if not plain or len(plain) > 200 or plain.casefold().startswith(_POLICY) or _has_controls(plain):
        raise DecisionError(
            f"A decision needs the name of the person who makes it, in one line; got {name[:200]!r}. "
            f"Give --by NAME."
        )
    return plain


def reason_given(text: str) -> str:
    """A reason that can stand in the record.

    Raises:
        DecisionError: empty, too long, or with characters that drive a terminal.
    """
    plain = text.strip()
    if not plain or len(plain) > 2000 or _has_controls(plain.replace("\n", "")):
        raise DecisionError(
            "A decision needs a reason, up to 2,000 characters of plain text. Give --reason TEXT."
        )
    return plain


def _has_controls(text: str) -> bool:
    """Whether a terminal would do something else with `text` than show it."""
    return any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in text)


def _decided(record: DecisionRecord) -> dict[str, object]:
    return {
        "patch_id": record.patch_id,
        "diff_hash": record.diff_hash,
        "decision": record.decision,
        "gate_verdict": record.gate_verdict.value if record.gate_verdict else None,
        "by": record.by,
        "reason": record.reason,
        "decided_at": record.at,
        "record_hash": record.hash,
    }


def _waiting(patch: Patch, gate: GateVerdict, by: str, reason: str) -> dict[str, object]:
    return {
        "patch_id": patch.id,
        "diff_hash": diff_hash(patch),
        "decision": "wait",
        "gate_verdict": gate.value,
        "by": by,
        "reason": f"{reason}. {command('approve', patch.id)} (or reject)",
        "decided_at": None,
        "record_hash": None,
    }
