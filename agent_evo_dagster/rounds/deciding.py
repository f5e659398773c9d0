"""The desk where people decide, whichever way they come: command, file or launchpad. One set of rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent_evo_dagster.errors import AgentEvoError, DecisionError
from agent_evo_dagster.files import locked
from agent_evo_dagster.patches.approvals import DecisionRequest, read_approvals
from agent_evo_dagster.patches.conflicts import objections
from agent_evo_dagster.patches.decisions import approve_as_one, expire, ledger_of, reject
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.policies import people_needed, strictest
from agent_evo_dagster.patches.records import ConsentRecord, DecisionRecord
from agent_evo_dagster.patches.review import Review, find_review, reviews
from agent_evo_dagster.rounds.adoption import withdraw_patch
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import ApprovalPolicy, Settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.journal import LOCK
from agent_evo_dagster.warehouse import Warehouse

Decided = DecisionRecord | ConsentRecord


@dataclass(frozen=True, slots=True)
class Synced:
    """What the files of a bank asked for, and what became of it."""

    records: tuple[Decided, ...] = ()  # new ones
    expired: tuple[DecisionRecord, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)  # by file


@dataclass(frozen=True, slots=True)
class Desk:
    """Decides on the patches of `store`, for the bank that they are for."""

    bank: SkillBank
    store: Warehouse
    rounds: RoundStore
    policy: ApprovalPolicy  # of the settings; a round may be stricter
    only_round: str | None = None  # the one round whose patches are decided on here

    @property
    def ledger(self) -> Ledger:
        """The record of decisions of the bank."""
        return ledger_of(self.bank.path)

    def reviews(self) -> list[Review]:
        """Every patch with evidence and decision."""
        return reviews(self.store, self.ledger)

    def carry_out(self, request: DecisionRequest, now: datetime) -> list[Decided]:
        """Decide on each patch that is named, after a look at all of them together.

        Raises:
            DecisionError: a patch is not known, they cannot be approved together, or one was decided
                otherwise; those before it are on record then, and asking again changes nothing.
            SkillBankError: a patch is for a skill that takes none.
        """
        with locked(self.bank.path / LOCK):  # of two who approve what excludes each other, one does
            picked = self._picked(request)
            done = [self._decide(word, one, request, now) for word, one in picked if word != "withdraw"]
        # Taking back holds the bank by itself.
        return [*done, *(self._decide(word, one, request, now) for word, one in picked if word == "withdraw")]

    def _picked(self, request: DecisionRequest) -> list[tuple[str, Review]]:
        """What is to be decided, after a look at all of it together."""
        everything = self.reviews()
        picked = [(word, find_review(everything, name)) for word, name in request.named()]
        foreign = [review for _, review in picked if self.only_round not in (None, review.round)]
        if foreign:
            raise DecisionError(
                f"{foreign[0].patch.id} is a patch of {foreign[0].round}, and {self.only_round} is being "
                f"decided on. Launch the decision on the partition {foreign[0].round}."
            )
        wanted = [review for word, review in picked if word == "approve"]
        for review in wanted:
            if not review.taken_up:
                raise DecisionError(
                    f"{review.patch.id} is made of {' and '.join(review.patch.supersedes)}, and no round "
                    f"has judged it yet. The next one does: agent-evo rounds run"
                )
            # Adoption would refuse it: an approval on record could then not be carried out.
            self.bank.require_target(review.patch.skill, review.patch.id)
        against = list(objections(wanted, everything))
        if against:
            raise DecisionError(f"They cannot all be approved: {'; '.join(against)}.")
        return picked

    def _decide(self, word: str, review: Review, request: DecisionRequest, now: datetime) -> Decided:
        patch, by, reason = review.patch, request.by, request.reason
        if word == "reject":
            return reject(self.ledger, patch, gate=review.gate, by=by, reason=reason, at=now)
        if word == "withdraw":
            return withdraw_patch(
                self.bank, self.ledger, patch, gate=review.gate, by=by, reason=reason, at=now
            )
        return approve_as_one(
            self.ledger,
            patch,
            gate=review.gate,
            by=by,
            reason=reason,
            at=now,
            override=request.override,
            people=self.people(review),
        )

    def people(self, review: Review) -> int:
        """How many different people must approve a patch: what its round or the settings ask for."""
        manifest = self.rounds.folder(review.round) / "manifest.json"
        policies = [self.rounds.load(review.round).policy] if manifest.is_file() else []
        return max(1, people_needed(strictest(self.policy, *policies)))

    def sync(self, now: datetime, *, expiry: timedelta | None = None) -> Synced:
        """Carry out what the bank's files ask for, then end the wait of what waited too long.

        A file that cannot be carried out is told of, and keeps no other back.
        """
        before = {record.hash for record in self.ledger.records()}
        done: list[Decided] = []
        problems: dict[str, str] = {}
        for file in read_approvals(self.bank.path):
            try:
                if file.request is None:
                    raise DecisionError(file.problem or "")
                done += self.carry_out(file.request, now)
            except AgentEvoError as error:
                problems[file.name] = str(error)
        new = {record.hash: record for record in done if record.hash not in before}
        return Synced(tuple(new.values()), tuple(self._expired(now, expiry)), problems)

    def _expired(self, now: datetime, expiry: timedelta | None) -> Sequence[DecisionRecord]:
        waiting = [review for review in self.reviews() if review.waits]
        ended = (
            expire(self.ledger, review.patch, gate=review.gate, expiry=expiry, now=now) for review in waiting
        )
        return [record for record in ended if record is not None and record.decision == "expire"]


def desk_of(settings: Settings) -> Desk:
    """The desk of a home."""
    return Desk(
        SkillBank.open(settings.bank_path),
        Warehouse(settings.warehouse),
        RoundStore(settings.rounds),
        settings.policy,
    )


def expiry_of(settings: Settings) -> timedelta | None:
    """How long a patch may wait."""
    return None if settings.expiry_days is None else timedelta(days=settings.expiry_days)
