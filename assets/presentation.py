"""Metadata that a person reads in the Dagster UI: numbers, tables, pictures, checks. No domain logic."""

import base64
import math
from collections.abc import Iterator, Mapping, Sequence

import dagster as dg
import polars as pl

from agent_evo_dagster.analysis.markdown import fenced, plain

OWNER = "team:agent-evo"
Metadata = dict[str, dg.MetadataValue]
# What an asset with checks yields: Dagster reads no type from a generator, so frames reach the IO manager.
Results = Iterator[dg.MaterializeResult[pl.DataFrame]]


def numbers(values: Mapping[str, object]) -> Metadata:
    """Numbers that Dagster plots over rounds; a missing or non-finite one is null beside a flag."""
    shown: Metadata = {}
    for name, value in values.items():
        if not isinstance(value, int | float) or not math.isfinite(value):
            shown[name] = dg.MetadataValue.null()
            shown[f"{name}_not_finite"] = dg.MetadataValue.text("missing" if value is None else repr(value))
        elif isinstance(value, int):
            shown[name] = dg.MetadataValue.int(value)
        else:
            shown[name] = dg.MetadataValue.float(float(f"{value:.6g}"))
    return shown


def table(frame: pl.DataFrame, columns: Sequence[str], *, limit: int = 50) -> dg.MetadataValue:
    """The first `limit` rows of some columns, as a table."""
    rows = frame.select(columns).head(limit).iter_rows(named=True)
    records = [dg.TableRecord({name: _cell(value) for name, value in row.items()}) for row in rows]
    schema = dg.TableSchema(columns=[dg.TableColumn(name, _kind(frame.schema[name])) for name in columns])
    return dg.MetadataValue.table(records, schema)


def counts(frame: pl.DataFrame, column: str) -> dg.MetadataValue:
    """How often each value of a column occurs, most frequent first, as Markdown."""
    if frame.is_empty():
        return dg.MetadataValue.md("none")
    tally = frame.group_by(column).len().sort(["len", column], descending=[True, False])
    lines = [f"| {column} | rows |", "|---|---|"]
    lines += [f"| {plain(str(name))} | {count} |" for name, count in tally.head(40).iter_rows()]
    return dg.MetadataValue.md("\n".join(lines))


def picture(png: bytes, alt: str) -> str:
    """Markdown of a picture that carries its own bytes."""
    return f"![{alt}](data:image/png;base64,{base64.b64encode(png).decode()})"


def diff(text: str) -> dg.MetadataValue:
    """A unified diff, fenced so that nothing in it is read as Markdown."""
    return dg.MetadataValue.md(fenced(text, "diff") if text else "no change")


def check(name: str, problems: Sequence[str], *, warn: bool = False) -> dg.AssetCheckResult:
    """The result of the check `name`: passed where there are no problems, which are listed."""
    more = [f"and {len(problems) - 3} more"] if len(problems) > 3 else []
    return dg.AssetCheckResult(
        check_name=name,
        passed=not problems,
        severity=dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR,
        metadata={"problems": len(problems), "first": list(problems[:20])},
        description="; ".join([*problems[:3], *more]) or "no problem found",
    )


def _cell(value: object) -> str | float | int | bool | None:
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def _kind(dtype: pl.DataType) -> str:
    if dtype.is_integer():
        return "int"
    if dtype.is_float():
        return "float"
    return "bool" if dtype == pl.Boolean else "string"
