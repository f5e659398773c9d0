"""Small rounds for the tests of the page over all of them."""

import polars as pl

from agent_evo_dagster.analysis.all_rounds import AllRoundsInputs
from agent_evo_dagster.analysis.views.all_rounds import RoundLine
from agent_evo_dagster.analysis.views.costs import CostLine
from agent_evo_dagster.analysis.views.gate import patch_views
from agent_evo_dagster.analysis.views.policy import changes_of, trend_rows
from tests.agent_evo_dagster.analysis.builders import START, evaluation_frame, life_frame, patch_frames

SCORES = evaluation_frame({"before": [True] * 8 + [False] * 32, "after": [True] * 24 + [False] * 16})


IN = ("approve", "adopt")


def line(
    number: int, *, decision: str = "approve", events: tuple[str, ...] = IN, **fields: object
) -> RoundLine:
    """One round with one patch; `fields` replace what it says."""
    key = f"round-{number:04}"
    told = {
        "key": key,
        "opened_at": START,
        "status": "complete",
        "sessions": 6,
        "parent": None,
        "starts_from": "base of its model",
        "request": "",
        "settings": {"learning_rate": "2e-05"},
        "steps": 10,
        "reward": 0.4,
        "changes": changes_of(SCORES),
        "patches": patch_views(key, *patch_frames(decision).values(), life_frame(*events)),
        "costs": (CostLine("judge probe", {"rollout": 1600}),),
        "problem": "",
        "link": f"{key}/report.html",
    }
    return RoundLine(**{**told, **fields})


def all_of(*lines: RoundLine) -> AllRoundsInputs:
    """The inputs of the page over these."""
    trend = [trend_rows(one.key, at, SCORES, one.parent) for at, one in enumerate(lines, start=1)]
    return AllRoundsInputs(lines, pl.concat(trend), life_frame(*IN))
