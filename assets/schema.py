"""Checks of frames against their documented schemas. Not what the values mean."""

from collections.abc import Sequence

import polars as pl


def schema_problems(frame: pl.DataFrame, schema: pl.Schema, *, unique: str | None = None) -> list[str]:
    """What differs from the schema: missing or extra columns, other types, repeated ids."""
    found = frame.schema
    problems = [f"column {name} is missing" for name in schema if name not in found]
    problems += [f"column {name} is not in the schema" for name in found if name not in schema]
    problems += [
        f"column {name} is {found[name]}, the schema says {kind}"
        for name, kind in schema.items()
        if name in found and found[name] != kind
    ]
    if unique and unique in found:
        repeated = frame.filter(pl.col(unique).is_duplicated())[unique].unique(maintain_order=True)
        problems += [f"{unique} {value} occurs more than once" for value in repeated.head(20)]
        if frame[unique].null_count():
            problems.append(f"{unique} is null in {frame[unique].null_count()} rows")
    return problems


def length_problems(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Rows whose per-token lists differ in length."""
    lengths = [pl.col(name).list.len() for name in columns]
    unequal = pl.any_horizontal([other.ne_missing(lengths[0]) for other in lengths[1:]])
    rows = frame.with_row_index("row").filter(unequal)
    return [f"row {row}: the lists {', '.join(columns)} differ in length" for row in rows["row"].head(20)]
