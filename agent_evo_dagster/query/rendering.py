"""Rows and views as text: a table for people, JSON, CSV, Markdown. Nothing is asked here."""

import csv
import io
import json
import math
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any, Final

from agent_evo_dagster.analysis.display import bounded
from agent_evo_dagster.query.meanings import meaning
from agent_evo_dagster.query.store import Rows
from agent_evo_dagster.query.views import VIEWS

_MAX_CELL: Final = 60


def as_table(found: Rows) -> str:
    """Aligned columns; long cells are cut, and control characters escaped, since rows hold hostile text."""
    cells = [[_cell(value) for value in row] for row in found.rows]
    heads = [_cell(name) for name in found.columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    right = [_is_number(column) for column in zip(*found.rows, strict=True)] or [False] * len(heads)
    lines = [_line(row, widths, right) for row in [heads, ["-" * width for width in widths], *cells]]
    rows = f"({len(found.rows)} row{'' if len(found.rows) == 1 else 's'})"
    return "\n".join([*lines, rows])


def distinct(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns' names, each once: the second `n` is `n_2`, unless a column is called so itself."""
    taken, names = set(columns), list[str]()
    for name in columns:
        new, number = name, 1
        while new in names or (number > 1 and new in taken):
            number += 1
            new = f"{name}_{number}"
        names.append(new)
    return tuple(names)


def as_json(found: Rows) -> str:
    """An array with one object a row; instants as ISO 8601, NaN and infinity as null."""
    names = distinct(found.columns)
    rows = [dict(zip(names, map(_plain, row), strict=True)) for row in found.rows]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False)


def as_csv(found: Rows) -> str:
    """Comma separated values with a header; lists as JSON text, null as nothing."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([_flat(value) for value in row] for row in found.rows)
    return stream.getvalue().removesuffix("\n")


def schema_page() -> str:
    """Every view with its columns, as Markdown."""
    parts = []
    for view in sorted(VIEWS, key=lambda view: view.name):
        rows = [f"| `{name}` | {kind} | {meaning(view.name, name)} |" for name, kind in view.columns.items()]
        parts.append(
            "\n".join(
                [f"### {view.name}\n\n{view.about}\n", "| column | type | meaning |", "|---|---|---|", *rows]
            )
        )
    return "\n\n".join(parts) + "\n"


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = (
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(row, widths, right, strict=True)
    )
    return "  ".join(cells).rstrip()


def _is_number(column: Sequence[Any]) -> bool:
    return all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in column
    )


def _cell(value: Any) -> str:
    text = str(_flat(value))
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: _MAX_CELL + 1])
    return shown if len(shown) <= _MAX_CELL else shown[: _MAX_CELL - 1] + "…"


def told(value: Any, limit: int) -> str:
    """One value as text that can be shown, at most about `limit` characters of it."""
    return bounded(str(_flat(value)), limit)


def _flat(value: Any) -> Any:
    plain = _plain(value)
    if plain is None:
        return ""
    return json.dumps(plain, ensure_ascii=False) if isinstance(plain, list | dict | bool) else plain


def _plain(value: Any) -> Any:
    """A value that JSON knows."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | str) else str(value)
