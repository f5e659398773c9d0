"""Decisions on judged patches: by policy, by a person, and whether one was made. Not the file's format."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from agent_evo_dagster.analysis.deciding import command, to_decide
from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.change import diff_hash
from agent_evo_dagster.patches.document import idea_of
from agent_evo_dagster.patches.frames import row_patch
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.patches.ledger import POLICY, Ledger
from agent_evo_dagster.patches.people import mixed_scripts, same_person
from agent_evo_dagster.patches.policies import people_needed, policy_named
from agent_evo_dagster.patches.records import ConsentRecord, DecisionRecord
from agent_evo_dagster.patches.types import PATCH_DECISION_SCHEMA, FinalVerdict, GateVerdict, Patch
from agent_evo_dagster.settings import ApprovalPolicy

LEDGER_NAME = "decisions.jsonl"
_ACTS = {"reject": "rejected", "withdraw": "withdrew", "expire": "ended the wait of"}


def ledger_of(bank: Path) -> Ledger:
    """The ledger of a skill bank."""
    return Ledger(bank / LEDGER_NAME)


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for the patches that are decided on, besides the policy."""

    expiry: timedelta | None = None  # how long a patch may wait, from its round's opening on
    changed: Mapping[str, str] = field(default_factory=dict)  # patch id -> why it can no longer be adopted


def decide(
    policy: ApprovalPolicy,
    patches: pl.DataFrame,
    evaluations: pl.DataFrame,
    ledger: Ledger,
    now: datetime,
    *,
    terms: Terms | None = None,
) -> pl.DataFrame:
    """The decision in force on each patch of a round (PATCH_DECISION_SCHEMA), in the order of `patches`.

    What the ledger holds stands; only an undecided patch is put to the policy. So the same round
    gives the same bytes again. `patches` is of PATCH_SCHEMA, `evaluations` of PATCH_EVALUATION_SCHEMA.

    Raises:
        DecisionError: a patch without a verdict of the gate, or a decision on other bytes.
        PatchError: a row of `patches` whose columns do not belong together.
    """
    judged = {row["patch_id"]: row for row in evaluations.iter_rows(named=True)}
    work = _Deciding(policy, ledger, now, terms or Terms())
    rows = [work.row(row, judged.get(row["patch_id"])) for row in patches.iter_rows(named=True)]
    return pl.DataFrame(rows, schema=PATCH_DECISION_SCHEMA, orient="row")


@dataclass(frozen=True, slots=True)
class _Deciding:
    """One look at the patches of a round."""

    policy: ApprovalPolicy
    ledger: Ledger
    now: datetime
    terms: Terms

    def row(self, row: Mapping[str, object], judged: Mapping[str, object] | None) -> dict[str, object]:
        """The row of one patch."""
        patch, settings = row_patch(row)
        standing = self.ledger.decision(patch.id)
        if standing is not None:
            _same_bytes(standing, patch)
            return self._standing(standing, patch)
        if judged is None:
            raise DecisionError(
                f"{patch.id} has no verdict of the gate. Materialise patch_evaluation of its round first."
            )
        gate = GateVerdict(str(judged["verdict"]))
        expired = expire(self.ledger, patch, gate=gate, expiry=self.terms.expiry, now=self.now)
        if expired is not None:
            return _decided(expired)
        return self._undecided(patch, gate, str(judged["reason"]), settings_only=settings is not None)

    def _standing(self, standing: DecisionRecord, patch: Patch) -> dict[str, object]:
        """A decision on record; an approval waits for a second person where two must approve."""
        lacking = _lacking(self.ledger, standing, patch, people_needed(self.policy))
        if lacking is None:
            return _decided(standing)
        return _waiting(patch, standing.gate_verdict, f"{POLICY}{self.policy}", lacking)

    def _undecided(
        self, patch: Patch, gate: GateVerdict, gate_reason: str, *, settings_only: bool
    ) -> dict[str, object]:
        rule = policy_named(self.policy)
        by, changed = f"{POLICY}{rule.name}", self.terms.changed.get(patch.id)
        verdict, reason = rule.decide(gate, settings_only=settings_only, gate_reason=gate_reason)
        if changed is not None and verdict == "approve":  # adopting it would fail, round after round
            record = _record(patch, "withdraw", gate, by=by, reason=f"{changed}; {reason}", at=self.now)
            return _decided(self.ledger.settle(record))
        if verdict == "wait":
            said = self.ledger.approvers(patch.id, diff_hash(patch))
            told = [f"{' and '.join(said)} approved; another person must"] if said else []
            told += [changed] if changed else []
            return _waiting(patch, gate, by, "; ".join([*told, reason]))
        # A person may have decided since the look above: that stands, and is no failure of the round.
        decided = self.ledger.settle(_record(patch, verdict, gate, by=by, reason=reason, at=self.now))
        _same_bytes(decided, patch)
        return self._standing(decided, patch)


def expire(
    ledger: Ledger, patch: Patch, *, gate: GateVerdict | None, expiry: timedelta | None, now: datetime
) -> DecisionRecord | None:
    """The record that ends the wait of a patch that nobody decided in time; None while it may wait."""
    if expiry is None or now - patch.created < expiry:
        return None
    reason = (
        f"nobody decided within {expiry / timedelta(days=1):g} days of {patch.created:%Y-%m-%d %H:%M} UTC"
    )
    return ledger.settle(_record(patch, "expire", gate, by=f"{POLICY}expiry", reason=reason, at=now))


def _lacking(ledger: Ledger, standing: DecisionRecord, patch: Patch, people: int) -> str | None:
    """What an approval lacks where `people` must approve; None where it lacks nothing, or was carried out."""
    if standing.decision != "approve" or people < 2:
        return None
    said = ledger.approvers(patch.id, diff_hash(patch))
    if len(said) >= people or ledger.was_adopted(patch.id):
        return None
    return f"{' and '.join(said) or standing.by} approved; {people} different people must"


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
    return ledger.decide(_approval(patch, gate, by=by, reason=reason, at=at, override=override))


def approve_as_one(
    ledger: Ledger,
    patch: Patch,
    *,
    gate: GateVerdict | None,
    by: str,
    reason: str,
    at: datetime,
    override: bool = False,
    people: int,
) -> DecisionRecord | ConsentRecord:
    """Record the approval of one of `people` who must give theirs: until then it is a consent.

    Raises:
        DecisionError: as `approve`.
    """
    wanted = _approval(patch, gate, by=by, reason=reason, at=at, override=override)
    return ledger.approve(wanted, people=people)


def _approval(
    patch: Patch, gate: GateVerdict | None, *, by: str, reason: str, at: datetime, override: bool
) -> DecisionRecord:
    against = gate not in (GateVerdict.ACCEPT, GateVerdict.NEEDS_PERSON)
    if against and not override:
        found = "has not judged it" if gate is None else f"says {gate.value}"
        raise DecisionError(
            f"{patch.id} cannot be approved like this: the gate {found}. "
            f"Reject it, or approve it against the gate, on record, with --override."
        )
    record = _record(patch, "approve", gate, by=person(by), reason=reason_given(reason), at=at)
    return record.model_copy(update={"override": against})


def withdraw(
    ledger: Ledger, patch: Patch, *, gate: GateVerdict | None, by: str, reason: str, at: datetime
) -> DecisionRecord:
    """Record that a person takes a patch back, approved or waiting; the same idea may be proposed again.

    Raises:
        DecisionError: it was adopted, or it ended otherwise.
    """
    return ledger.withdraw(
        _record(patch, "withdraw", gate, by=person(by), reason=reason_given(reason), at=at)
    )


def reject(
    ledger: Ledger, patch: Patch, *, gate: GateVerdict | None, by: str, reason: str, at: datetime
) -> DecisionRecord:
    """Record a person's rejection.

    Raises:
        DecisionError: it was decided otherwise.
    """
    return ledger.decide(_record(patch, "reject", gate, by=person(by), reason=reason_given(reason), at=at))


def require_approved(ledger: Ledger, patch: Patch, *, people: int = 0) -> DecisionRecord:
    """The approval of exactly this patch; what compiles or adopts a patch calls this and trusts nothing else.

    Raises:
        DecisionError: none was made, it ended otherwise, it was of other bytes, or by too few people.
    """
    record = ledger.decision(patch.id)
    place = f"{patch.id} for {patch.skill}#{patch.target_section}"
    if record is None:
        raise DecisionError(
            f"{place} is not approved: {ledger.path} holds no decision on it. Decide with: "
            f"{command('approve', patch.id)} (or reject)"
        )
    if record.decision != "approve":
        raise DecisionError(
            f"{place} is not approved: {record.by} {_ACTS[record.decision]} it: {record.reason}"
        )
    _same_bytes(record, patch)
    lacking = _lacking(ledger, record, patch, people)
    if lacking is not None:
        raise DecisionError(f"{place} is not approved: {lacking}. {command('approve', patch.id)}")
    return record


def _record(
    patch: Patch, verdict: FinalVerdict, gate: GateVerdict | None, *, by: str, reason: str, at: datetime
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
    unseen = first_hidden(plain) or any(selector in plain for selector in "\ufe0e\ufe0f")
    if not any(map(str.isalpha, plain)) or len(plain) > 200 or unseen or _has_controls(plain):
        raise DecisionError(
            f"A decision needs the name of the person who makes it, in one line, with letters and without "
            f"characters that cannot be seen; got {name[:200]!a}. Give --by NAME."
        )
    mixed = mixed_scripts(plain)
    if mixed:
        raise DecisionError(
            f"{plain!a} mixes letters of {' and '.join(mixed)}, which an eye cannot tell apart; a person who "
            f"decides has a name in one script. Give --by NAME."
        )
    if same_person(plain).startswith(same_person(POLICY)):
        raise DecisionError(f"{plain!r} is the name of a rule; a decision of a person needs a person's.")
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


def _waiting(patch: Patch, gate: GateVerdict | None, by: str, reason: str) -> dict[str, object]:
    return {
        "patch_id": patch.id,
        "diff_hash": diff_hash(patch),
        "decision": "wait",
        "gate_verdict": gate.value if gate else None,
        "by": by,
        "reason": f"{reason}. {' or: '.join(to_decide(patch.id, gate))}",
        "decided_at": None,
        "record_hash": None,
    }
