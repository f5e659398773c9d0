"""What a round cost, what it ran with, and how to make it again or undo it. No results."""

import json
import shlex
from collections.abc import Mapping

import polars as pl

from agent_evo_dagster.analysis.frames import rows_of
from agent_evo_dagster.analysis.text import duration, number
from agent_evo_dagster.analysis.views.page import PatchView, Table

# Dagster wants its home as an absolute path; the command is for the folder of the checkout.
_DAGSTER = (
    'DAGSTER_HOME="$(realpath "${AGENT_EVO_HOME:-.agent_evo}")/dagster" '
    "dagster asset materialize -m agent_evo_dagster.definitions"
)
_SETTING_COLUMNS = ("name", "value", "source", "origin")


def settings_table(settings: pl.DataFrame) -> Table:
    """Every setting of the training run, with its source."""
    rows = tuple(
        (str(row["name"]), _value(row["value"]), str(row["source"]), str(row["origin"]))
        for row in rows_of(settings, _SETTING_COLUMNS, what="settings")
    )
    columns = ("Setting", "Value", "Source", "Where")
    return Table("Settings of the training run", columns, rows, frozenset({1}), "No run was configured.")


def _value(text: object) -> str:
    value = json.loads(text) if isinstance(text, str) else text
    return number(value, 6) if isinstance(value, int | float | str) else str(value)


def cost_table(costs: Mapping[str, float]) -> Table:
    """What was measured of the cost, by name."""
    rows = tuple((name.replace("_", " "), _amount(name, value)) for name, value in sorted(costs.items()))
    return Table("Cost", ("What", "Amount"), rows, frozenset({1}), "No cost was measured.")


def _amount(name: str, value: float) -> str:
    if name.endswith("seconds"):
        return duration(value)
    return f"{number(value / 2**20)} MiB" if name.endswith("bytes") else number(value, 4)


def hash_table(checkpoints: Mapping[str, str], compiled: pl.DataFrame) -> Table:
    """The SHA-256 of checkpoints and of compiled skills."""
    skills = [
        (str(row["name"]), str(row["sha256"])) for row in rows_of(compiled, ("name", "sha256"), what="skills")
    ]
    rows = [("checkpoint", *item) for item in checkpoints.items()] + [("skill", *item) for item in skills]
    columns = ("Kind", "Name", "SHA-256")
    return Table("What was made, by content", columns, tuple(sorted(rows)), empty="Nothing was made.")


def commands(round_key: str, patches: tuple[PatchView, ...]) -> tuple[tuple[str, str], ...]:
    """What a reader may type next, each with what it does."""
    key = shlex.quote(round_key)
    return (
        ("Show this round", f"agent-evo rounds show {key}"),
        ("Make the whole round again", f"agent-evo rounds run {key}"),
        ("Make this report again", f"{_DAGSTER} --select analysis_report --partition {key}"),
        ("See what became of its patches since", f"agent-evo report {key}"),
        ("Put all rounds on one page", "agent-evo report --all"),
        *(way for patch in patches for way in patch.ways),
    )
