"""The `rules` analyst: a session finding that came again, with a known way out, becomes one line of advice.

One bullet, appended to the section that the finding points to; session text in it is quoted as data. No
judge here measures prose, so such a patch always waits for a person. Findings without a known way out give no
advice.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from agent_evo_dagster.patches.quoting import quoted_words

MINIMUM: Final = 2  # times that a trouble was seen before it becomes advice
_NAMES = 3

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Advice:
    """One line for one section, and the finding that it comes from."""

    finding_id: str
    skill: str | None
    section: str | None
    line: str  # without the bullet, ends with a full stop
    seen: int


def advised(findings: pl.DataFrame) -> list[Advice]:
    """The advice that session findings give: the most often seen first, then by id, so ties never vary."""
    chosen = findings.filter(
        (pl.col("origin") == "session") & pl.col("kind").is_in(list(_RULES)) & (pl.col("count") >= MINIMUM)
    ).sort("count", "confidence", "finding_id", descending=[True, True, False])
    found = []
    for row in chosen.iter_rows(named=True):
        line = _RULES[row["kind"]](json.loads(row["data"]))
        if line is not None:
            skill, section = row["target_skill"], row["target_section"]
            found.append(Advice(row["finding_id"], skill, section, line, row["count"]))
    return found


def _recovered(data: Data) -> str | None:
    """What helped after a failure: another input, or a call in between; trying again is no advice."""
    when = f"When {quoted_words(data['tool'], 40)} fails with {quoted_words(data['signature'])}"
    examples, between = data.get("examples") or (), data.get("calls_between") or ()
    if data.get("fixed_by") == "another input" and examples:
        first = examples[0]
        return f"{when}: {quoted_words(first['failed'])} did not work, {quoted_words(first['worked'])} did."
    if data.get("fixed_by") == "calls in between" and between:
        return f"{when}: {quoted_words(between[-1])} first, then the same again, worked."
    return None


def _astray(data: Data) -> str | None:
    wrong, right = data["subject"]
    names = " and ".join(quoted_words(name, 60) for name in data["names"][:_NAMES])
    return f"Look for {names} in {quoted_words(right)}, not in {quoted_words(wrong)}."


def _unknown(data: Data) -> str | None:
    what, name, nearest = data["what"], data["name"], data["nearest"]
    if nearest is None:
        return None
    named = quoted_words(name, 60)
    return f"There is no {quoted_words(what, 10)[1:-1]} {named}; the nearest is {quoted_words(nearest, 60)}."


_RULES: Final[Mapping[str, Callable[[Data], str | None]]] = {
    "failure_recovery": _recovered,
    "unknown_name": _unknown,
    "wrong_folder": _astray,
}
