"""What a person reviews: the patches of all rounds with evidence and decision. It decides nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from agent_evo_dagster.errors import DecisionError, PatchError
from agent_evo_dagster.patches.evidence import GateEvidence
from agent_evo_dagster.patches.frames import row_patch
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.records import DecisionRecord
from agent_evo_dagster.patches.types import Patch, PatchStatus

_ROUND = re.compile(r"round-([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Review:
    """One patch as the last round that proposed it shows it."""

    round: str
    patch: Patch
    diff: str
    settings: str  # JSON text {setting: [old, new]}
    evidence: GateEvidence | None
    decision: DecisionRecord | None
    adopted: bool

    @property
    def status(self) -> PatchStatus:
        """Where it is in its life."""
        if self.decision is not None and self.decision.decision == "reject":
            return PatchStatus.REJECTED
        if self.adopted:
            return PatchStatus.ACTIVE
        if self.decision is not None:
            return PatchStatus.APPROVED
        return PatchStatus.PROPOSED if self.evidence is None else PatchStatus.EVALUATED


def reviews(warehouse: Path, ledger: Ledger) -> list[Review]:
    """Every patch that a round in `warehouse` proposes, in the order of rounds, each once.

    Raises:
        DecisionError: the ledger's chain is broken.
        PatchError: a stored file that is not what a round writes.
    """
    verdicts = ledger.verdicts()
    found: dict[str, Review] = {}
    for path in _rounds(warehouse / "skill_patches"):
        judged = _evidence(warehouse / "patch_evaluation" / path.name)
        for row in _read(path).iter_rows(named=True):
            review = _review(path.stem, row, judged, verdicts, ledger)
            found.pop(review.patch.id, None)
            found[review.patch.id] = review
    return list(found.values())


def find_review(all_reviews: list[Review], patch_id: str) -> Review:
    """The review of the patch whose id is, or alone begins with, `patch_id`.

    Raises:
        DecisionError: none or several do.
    """
    found = [review for review in all_reviews if review.patch.id.startswith(patch_id)] if patch_id else []
    if len(found) == 1:
        return found[0]
    known = ", ".join(review.patch.id for review in (found or all_reviews)[-20:]) or "none: run a round first"
    what = f"{len(found)} patches begin" if found else "No patch begins"
    raise DecisionError(f"{what} with {patch_id!r}. Give the id of one of these: {known}.")


def _review(
    round_key: str,
    row: dict[str, object],
    judged: Mapping[str, GateEvidence],
    verdicts: Mapping[str, DecisionRecord],
    ledger: Ledger,
) -> Review:
    patch, _ = row_patch(row)
    decision = verdicts.get(patch.id)
    return Review(
        round=round_key,
        patch=patch,
        diff=str(row["diff"]),
        settings=str(row["settings"]),
        evidence=judged.get(patch.id),
        decision=decision,
        adopted=decision is not None and ledger.adoption(patch.id) is not None,
    )


def _rounds(folder: Path) -> list[Path]:
    """The files of rounds in `folder`, by number."""
    numbered = [(found, path) for path in folder.glob("*.parquet") if (found := _ROUND.fullmatch(path.stem))]
    return [path for found, path in sorted(numbered, key=lambda pair: int(pair[0][1]))]


def _evidence(path: Path) -> dict[str, GateEvidence]:
    if not path.is_file():
        return {}
    rows = _read(path).select("patch_id", "evidence").iter_rows()
    return {patch_id: GateEvidence.model_validate_json(text) for patch_id, text in rows}


def _read(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise PatchError(
            f"{path} cannot be read as a round's Parquet file: {error}. Run its round again."
        ) from error
