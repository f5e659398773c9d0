"""The page over all rounds, in its two forms. The words are in views, the look in templates."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from agent_evo_dagster.analysis.markdown import render_all_rounds_markdown
from agent_evo_dagster.analysis.page_html import render_all_rounds_html
from agent_evo_dagster.analysis.plots import accuracy_by_round
from agent_evo_dagster.analysis.report import Report
from agent_evo_dagster.analysis.views.all_rounds import (
    MOST_ROUNDS,
    RoundLine,
    cards,
    cost_by_round,
    headline,
    patch_table,
    record_table,
    round_table,
)
from agent_evo_dagster.analysis.views.page import AllRounds
from agent_evo_dagster.analysis.views.policy import trend_table, whole_trend


@dataclass(frozen=True, slots=True)
class AllRoundsInputs:
    """Everything that the page tells."""

    rounds: Sequence[RoundLine]  # by number
    trend: pl.DataFrame  # TREND_SCHEMA of all of them
    life: pl.DataFrame  # LIFE_SCHEMA


def render_all_rounds(inputs: AllRoundsInputs) -> Report:
    """Write the page.

    Raises:
        AnalysisError: a frame lacks a column.
        MissingExtraError: the packages for plots are not installed.
    """
    trend = whole_trend(pl.DataFrame(), inputs.trend)
    plot = accuracy_by_round(trend)
    page = AllRounds(
        verdict=headline(inputs.rounds, trend),
        cards=cards(inputs.rounds),
        plots=(plot,),
        tables=(
            round_table(inputs.rounds),
            patch_table(inputs.rounds),
            record_table(inputs.life),
            trend_table(trend, MOST_ROUNDS),
            cost_by_round(inputs.rounds),
        ),
        commands=(
            ("Show one round", "agent-evo rounds show round-0001"),
            ("Read one patch: its diff, the evidence", "agent-evo patches show PATCH_ID"),
            ("Take a patch out of its skill", "agent-evo skills rollback PATCH_ID --by NAME --reason TEXT"),
            ("Make this page again", "agent-evo report --all"),
        ),
    )
    return Report(render_all_rounds_markdown(page), render_all_rounds_html(page), {plot.name: plot.png})
