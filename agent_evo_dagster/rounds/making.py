"""Patches that people have made of patches: merged or rebased, on record, for the next round to judge.

Nothing is decided here, and no verdict is inherited: what was said of the sources holds for those alone.
"""

from datetime import datetime

from agent_evo_dagster.errors import DecisionError, PatchError
from agent_evo_dagster.patches.change import diff_hash
from agent_evo_dagster.patches.combining import Side, merged_patch, rebased_patch
from agent_evo_dagster.patches.decisions import person
from agent_evo_dagster.patches.document import render_patch, section_hash
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.propose import objection_to
from agent_evo_dagster.patches.records import MadeRecord
from agent_evo_dagster.patches.review import Review, find_review
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.rounds.adoption import withdraw_patch
from agent_evo_dagster.rounds.deciding import Desk
from agent_evo_dagster.rounds.keys import is_round_key, round_number
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_skill
from agent_evo_dagster.warehouse import Warehouse


def merge(desk: Desk, first: str, second: str, *, by: str, at: datetime) -> Review:
    """Have one patch made of two that wait and whose lines do not touch, against the section as it is.

    Both wait on until it is approved, which ends them; where one of them is decided on before, it is ended
    itself. Again it gives back the patch that there is.

    Raises:
        MergeConflictError: their lines touch; both sides are shown.
        PatchError: they cannot be one patch, or no round would propose it.
        DecisionError: one of them does not wait, or no name is given that can stand in the record.
    """
    name, everything = person(by), desk.reviews()
    sources = [find_review(everything, patch_id) for patch_id in (first, second)]
    for review in sources:
        if not review.waits:
            raise DecisionError(
                f"{review.patch.id} is {review.status.value}: only patches that wait are merged. Where it is "
                f"to be adopted, adopt it; then the other one: agent-evo patches rebase ID --by NAME"
            )
    _require_no_dependant(sources, everything)
    current = desk.bank.section(sources[0].patch.skill, sources[0].patch.target_section)
    one, other = (Side(review.patch, review.base) for review in sources)
    return _recorded(desk, merged_patch(current, one, other, at=at), current, by=name, at=at)


def _require_no_dependant(sources: list[Review], everything: list[Review]) -> None:
    """Refuse to end a patch by a merge that another one needs by its own id."""
    for review in everything:
        for source in sources:
            if review.open and source.patch.id in review.patch.depends_on:
                raise PatchError(
                    f"{review.patch.id} depends on {source.patch.id}, which a merge would end. Adopt "
                    f"{source.patch.id} as it is, or reject {review.patch.id} first."
                )


def rebase(desk: Desk, patch_id: str, *, by: str, at: datetime) -> Review:
    """Have a patch made for the section as it is now, in the place of one whose section has changed.

    That one can no longer be adopted: it is withdrawn, on record, approved or not.

    Raises:
        MergeConflictError: the section was changed in the same lines; both sides are shown.
        PatchError: nothing is left of it, or no round would propose it.
        DecisionError: it ended, its section is as it was, or no name is given that can stand in the record.
    """
    name, review = person(by), find_review(desk.reviews(), patch_id)
    old = review.patch
    place = f"{old.target_section} of {old.skill}"
    if not review.open:
        raise DecisionError(f"{old.id} is {review.status.value}: it is not brought onto another section.")
    current = desk.bank.section(old.skill, old.target_section)
    if section_hash(current) == old.base_hash:
        raise DecisionError(f"{place} is as it was when {old.id} was made: it can be adopted as it is.")
    made = rebased_patch(current, Side(old, review.base), at=at)
    found = _recorded(desk, made, current, by=name, at=at, replaces=old.id)
    reason = f"{place} was changed since it was made; {made.id} stands for it"
    withdraw_patch(desk.bank, desk.ledger, old, gate=review.gate, by=name, reason=reason, at=at)
    return found


def not_taken_up(ledger: Ledger, store: Warehouse, key: str, opened_at: datetime) -> list[Patch]:
    """The patches that `key` takes up: made before it was opened, undecided then, of no earlier round."""
    decided = ledger.verdicts(before=opened_at)
    earlier = [
        name
        for name in store.rounds(["skill_patches"])
        if is_round_key(name) and round_number(name) < round_number(key)
    ]
    known = {patch_id for name in earlier for patch_id in store.read(["skill_patches"], name)["patch_id"]}
    waiting = (one for one in ledger.made(before=opened_at) if one.patch_id not in known | decided.keys())
    return [one.patch() for one in waiting]


def _recorded(
    desk: Desk, made: Patch, base: str, *, by: str, at: datetime, replaces: str | None = None
) -> Review:
    """The patch on record, after all that a round would ask of it."""
    known = {review.patch.id: review for review in desk.reviews()}
    if made.id not in known or not known[made.id].waits:
        _check(desk.bank, desk.ledger, made, base)
        record = MadeRecord(
            patch_id=made.id,
            document=render_patch(made),
            base=base,
            sources={name: diff_hash(known[name].patch) for name in made.supersedes if name in known},
            replaces=replaces,
            by=by,
            at=at,
        )
        desk.ledger.record_made(record)
    return find_review(desk.reviews(), made.id)


def _check(bank: SkillBank, ledger: Ledger, made: Patch, base: str) -> None:
    """Refuse what no round would propose, and what the rules of the bank refuse."""
    bank.require_target(made.skill, made.id)
    manifest = bank.manifest(bank.ref(made.skill))
    reason = objection_to(
        made,
        {(made.skill, made.target_section): base},
        {made.skill: made.group},
        ledger=ledger,
        active=bank.active().keys(),
        protected={(made.skill, name) for name in manifest.protected},
    )
    if reason is not None:
        raise PatchError(f"Nothing was made of {' and '.join(made.supersedes)}: {reason}.")
    compile_skill(bank, made.skill, extra=[made])
