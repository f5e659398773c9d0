"""Patches that cannot both be adopted, found before anybody decides. Nothing is decided or merged here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from agent_evo_dagster.errors import MergeConflictError, PatchError
from agent_evo_dagster.patches.combining import Side, merged_patch
from agent_evo_dagster.patches.review import Review
from agent_evo_dagster.patches.types import Patch


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two open patches of which adopting one keeps the other out."""

    first: str
    second: str
    why: str

    def names(self, patch_id: str) -> bool:
        """Whether it is about this patch."""
        return patch_id in (self.first, self.second)

    def line(self) -> str:
        """It in words."""
        return f"{self.first} and {self.second}: {self.why}"


def conflicts(reviews: Sequence[Review]) -> list[Conflict]:
    """Every pair of open patches that says so, or that edits the same section."""
    return [
        Conflict(one.patch.id, other.patch.id, why)
        for one, other in combinations([review for review in reviews if review.open], 2)
        if (why := _why(one, other)) is not None
    ]


def _why(one: Review, other: Review) -> str | None:
    if _excludes(one.patch, other.patch) or _excludes(other.patch, one.patch):
        return "one of them says that it conflicts with the other"
    if (one.patch.skill, one.patch.target_section) != (other.patch.skill, other.patch.target_section):
        return None
    place = (
        f"both edit {one.patch.target_section} of {one.patch.skill}; the one adopted first changes what the "
        "other was made against"
    )
    for stands, source in ((one, other), (other, one)):
        if source.patch.id in stands.patch.supersedes:
            return f"{place}; {stands.patch.id} was made of {source.patch.id}, and ends it once approved"
    return f"{place}; {_way_out(one, other)}"


def _excludes(one: Patch, other: Patch) -> bool:
    """Whether `one` names the other, or what the other was made of."""
    return bool({other.id, *other.supersedes} & set(one.conflicts_with))


def _way_out(one: Review, other: Review) -> str:
    """Whether both can be had, and how."""
    ids = f"{one.patch.id} {other.patch.id}"
    waiting = [review.patch.id for review in (one, other) if review.waits]
    if len(waiting) == 1:
        return f"then bring the other onto that: agent-evo patches rebase {waiting[0]} --by NAME"
    if one.base != other.base:
        return (
            "they were made against different texts of it. Whether they fit together, this tells: "
            f"agent-evo patches merge {ids} --by NAME"
        )
    try:
        merged_patch(one.base, Side(one.patch, one.base), Side(other.patch, other.base), at=one.patch.created)
    except MergeConflictError:
        return "their lines touch, so a person must say which holds"
    except PatchError as error:
        return str(error)
    return f"their lines do not touch: agent-evo patches merge {ids} --by NAME makes one patch of both"


def objections(chosen: Sequence[Review], everything: Sequence[Review]) -> Iterator[str]:
    """Why patches cannot be approved together, or beside what is approved already."""
    ids = {review.patch.id for review in chosen}
    settled = {
        review.patch.id
        for review in everything
        if review.adopted or (review.decision is not None and review.decision.decision == "approve")
    }
    for conflict in conflicts(everything):
        sides = {conflict.first, conflict.second}
        if sides & ids and sides <= ids | settled and not sides <= settled:
            yield conflict.line()
    for review in chosen:
        for name in review.patch.depends_on:
            if name in {one.patch.id for one in everything} - ids - settled:
                yield f"{review.patch.id} depends on {name}, which is not approved; approve that first"
