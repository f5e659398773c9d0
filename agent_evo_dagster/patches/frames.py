"""Patches read back from their rows (PATCH_SCHEMA), checked as any document. Rows are made in propose."""

from collections.abc import Mapping

import polars as pl

from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.change import SettingsChange, result_hash, settings_change
from agent_evo_dagster.patches.document import parse_patch
from agent_evo_dagster.patches.types import Patch


def row_patch(row: Mapping[str, object]) -> tuple[Patch, SettingsChange | None]:
    """The patch of a frame's row, and its settings change found anew from the texts in it.

    Raises:
        PatchError: the row's columns do not belong together.
    """
    patch = parse_patch(str(row["document"]), origin=f"skill_patches row {row['patch_id']}")
    if patch.id != row["patch_id"]:
        raise PatchError(f"Row {row['patch_id']} holds the document of {patch.id}. Make skill_patches again.")
    return patch, settings_change(str(row["base"]), patch)


def with_result_hashes(patches: pl.DataFrame) -> pl.DataFrame:
    """The frame with `result_hash` told: SHA-256 of the section's text after each patch alone.

    Raises:
        PatchError: a column is missing, or a row's columns do not belong together.
    """
    missing = [name for name in ("patch_id", "base", "document") if name not in patches.columns]
    if missing:
        raise PatchError(
            f"Patches were to be told by their texts, and their frame lacks {', '.join(missing)} (it has "
            f"{', '.join(patches.columns)}). Make skill_patches again."
        )
    found = [result_hash(str(row["base"]), row_patch(row)[0]) for row in patches.iter_rows(named=True)]
    return patches.with_columns(pl.Series("result_hash", found, pl.String))


def patches_from_frame(patches: pl.DataFrame) -> list[Patch]:
    """The patches of a frame (PATCH_SCHEMA), in its order.

    Raises:
        PatchError: a row whose columns do not belong together.
    """
    return [row_patch(row)[0] for row in patches.iter_rows(named=True)]
