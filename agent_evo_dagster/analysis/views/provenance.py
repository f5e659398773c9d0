"""What a round ran with, what it made, and how to make it again or undo it. No results."""

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from agent_evo_dagster.analysis.frames import rows_of
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.views.page import PatchView, Table

# Dagster wants its home as an absolute path; the command is for the folder of the checkout.
_DAGSTER = (
    'DAGSTER_HOME="$(realpath "${AGENT_EVO_HOME:-.agent_evo}")/dagster" '
    "dagster asset materialize -m agent_evo_dagster.definitions"
)
_DEFAULT = "default"  # the source of a setting that nobody gave
_SETTING_COLUMNS = ("name", "value", "source", "origin")


def settings_tables(settings: pl.DataFrame) -> tuple[Table, Table]:
    """The settings of the training run that somebody gave, and folded those that nobody did."""
    rows = rows_of(settings, _SETTING_COLUMNS, what="settings")
    given, left = ([row for row in rows if (row["source"] == _DEFAULT) is state] for state in (False, True))
    return (
        _settings("Settings of the training run", given, "No run was configured, or none was given."),
        replace(_settings("Settings left at their defaults", left, "None."), folded=True),
    )


def _settings(caption: str, rows: Iterable[Mapping[str, object]], empty: str) -> Table:
    shown = tuple(
        (str(row["name"]), _value(row["value"]), str(row["source"]), str(row["origin"])) for row in rows
    )
    return Table(caption, ("Setting", "Value", "Source", "Where"), shown, frozenset({1}), empty)


def _value(text: object) -> str:
    value = json.loads(text) if isinstance(text, str) else text
    return number(value, 6) if isinstance(value, float) else "none" if value in ("", None) else str(value)


def hash_table(checkpoints: Mapping[str, str], compiled: pl.DataFrame) -> Table:
    """The SHA-256 of checkpoints and of compiled skills."""
    skills = [
        (str(row["name"]), str(row["sha256"])) for row in rows_of(compiled, ("name", "sha256"), what="skills")
    ]
    rows = [("checkpoint", *item) for item in checkpoints.items()] + [("skill", *item) for item in skills]
    columns = ("Kind", "Name", "SHA-256")
    made = tuple(sorted(rows))
    return Table(
        "What was made, by content; skills as compiled after the decisions of the round",
        columns,
        made,
        empty="Nothing was made.",
        folded=True,
    )


def commands(round_key: str, patches: tuple[PatchView, ...]) -> tuple[tuple[str, str], ...]:
    """What a reader may type next, each with what it does."""
    key = shlex.quote(round_key)
    return (
        ("Show this round", f"agent-evo rounds show {key}"),
        ("Make the whole round again", f"agent-evo rounds run {key}"),
        ("See what became of its patches since", f"agent-evo report {key}"),
        ("Write this report anew, as things stand then", f"agent-evo report {key} -o {key}.html"),
        ("The same, as the asset of the round", f"{_DAGSTER} --select analysis_report --partition {key}"),
        ("Put all rounds on one page", "agent-evo report --all"),
        *(way for patch in patches for way in patch.ways),
    )
