"""Checked access to the frames of lower rooms. No meaning of their columns."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from agent_evo_dagster.errors import AnalysisError


def rows_of(frame: pl.DataFrame, columns: Sequence[str], *, what: str) -> list[dict[str, Any]]:
    """The rows of `frame` with the named columns alone; a frame without columns has no rows.

    Raises:
        AnalysisError: the frame has columns, but not all of those named.
    """
    return select(frame, columns, what=what).to_dicts() if frame.width else []


def select(frame: pl.DataFrame, columns: Sequence[str], *, what: str) -> pl.DataFrame:
    """The named columns of `frame`.

    Raises:
        AnalysisError: a column is missing.
    """
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise AnalysisError(
            f"The frame of {what} must have the columns {', '.join(columns)}; it lacks {', '.join(missing)} "
            f"(it has {', '.join(frame.columns) or 'none'}). Make it again with this version of the library."
        )
    return frame.select(columns)
