import polars as pl
import pytest

from agent_evo_dagster.analysis import plots
from agent_evo_dagster.analysis.plots import accuracy_by_round, reward_by_step, sparkline
from agent_evo_dagster.analysis.series import Series
from agent_evo_dagster.analysis.training import find_in_training
from agent_evo_dagster.analysis.types import TREND_SCHEMA
from agent_evo_dagster.analysis.views.course import course_of
from agent_evo_dagster.analysis.views.policy import trend_rows, whole_trend
from tests.agent_evo_dagster.analysis.builders import evaluation_frame, metric_frame, rollout_frame

EMPTY = pl.DataFrame()


class Lines:
    """Axes that keep the heights of the lines that are drawn."""

    def __init__(self) -> None:
        self.drawn: list[tuple[float, ...]] = []

    def plot(self, _steps, heights, **_look) -> None:
        self.drawn.append(tuple(heights))


class Segments:
    """Axes that keep which rounds a line joins, and how the points are joined."""

    def __init__(self) -> None:
        self.drawn: list[tuple[int, ...]] = []
        self.looks: set[str] = set()

    def plot(self, at, _heights, **_look) -> None:
        self.drawn.append(tuple(map(round, at)))

    def errorbar(self, _at, _heights, *, linestyle, **_look) -> None:
        self.looks.add(linestyle)


def test_a_plot_says_in_words_what_it_shows():
    plot = reward_by_step(metric_frame({"reward": [0.1, None, 0.5]}), EMPTY)
    assert plot.alt == "Mean training reward by step: 0.10 at step 1, 0.50 at step 3."
    assert plot.line == "▁█  0.10 at step 1, 0.50 at step 3"
    assert b"<svg" in plot.svg


def test_the_plot_tells_and_draws_the_trend_that_the_findings_tell():
    metrics = metric_frame({"reward": [0.2, 0.2, 0.26, 0.23, 0.25, 0.3], "grad_norm": [0.8] * 6})
    plot = reward_by_step(metrics, EMPTY)
    told = find_in_training(metrics, EMPTY, EMPTY, {"learning_rate": 2e-5})["summary"][0]
    slope = told.removeprefix("reward moves by ").split(" (")[0]
    assert slope.startswith("+0.17 per 10 steps [") and f"slope {slope}" in plot.alt
    ends = "mean 0.22 at steps 1-3, 0.26 at steps 4-6"
    assert ends in told and ends in plot.alt and ends in plot.line
    lines = Lines()
    plots._draw_trend(Series("reward", (1, 2, 3, 4), (0.0, 0.1, 0.2, 0.3)), lines)
    drawn = [list(map(float, line)) for line in lines.drawn]
    assert drawn[0] == pytest.approx([0.0, 0.3]) and drawn[1] == pytest.approx([0.1, 0.1])


def test_of_a_long_training_the_plot_draws_the_trend_of_the_steps_that_findings_judge():
    metrics = metric_frame({"reward": [0.9] * 100 + [0.1] * 100})
    assert "mean 0.10 at steps 101-125, 0.10 at steps 176-200" in reward_by_step(metrics, EMPTY).alt


def test_without_a_reward_metric_the_rollouts_are_drawn():
    assert "at step 1" in reward_by_step(EMPTY, rollout_frame([[0.0, 1.0], [1.0, 1.0]])).alt


def test_without_data_the_plot_says_so():
    assert reward_by_step(EMPTY, EMPTY).line == "no reward was logged"
    assert accuracy_by_round(pl.DataFrame(schema=TREND_SCHEMA)).line == "nothing was evaluated"


def test_the_same_data_give_the_same_picture():
    metrics = metric_frame({"reward": [0.1, 0.2]})
    assert reward_by_step(metrics, EMPTY) == reward_by_step(metrics, EMPTY)


def test_rounds_are_drawn_in_the_order_of_their_numbers():
    better, best = (
        evaluation_frame({"before": [False] * 4, "after": [True, True, False, False]}),
        evaluation_frame({"before": [True, True, False, False], "after": [True] * 4}),
    )
    trend = whole_trend(trend_rows("round-0010", 10, best, "round-0009"), trend_rows("round-0009", 9, better))
    assert trend["round"].to_list() == ["round-0009"] * 2 + ["round-0010"] * 2
    assert "sampled 0.00, 0.50, 1.00" in accuracy_by_round(trend).alt


def test_of_many_rounds_the_first_and_the_last_are_told_and_some_are_named_on_the_axis():
    one = evaluation_frame({"before": [False], "after": [True]})
    first = trend_rows("round-0001", 1, one)
    numbers = pl.DataFrame({"number": range(1, 101)}, schema={"number": pl.Int64})
    named = numbers.with_columns(
        pl.format("round-{}", "number").alias("round"),
        pl.format("round-{}", pl.col("number") - 1).alias("parent"),
    )
    trend = named.join(first.drop("number", "round", "parent"), how="cross").select(first.columns)
    plot = accuracy_by_round(trend)
    assert plot.alt.count("1.00") == 11 and "…" in plot.alt
    assert plot.line.count("→") == 12


@pytest.fixture
def branched():
    """Round 2 failed after it was evaluated; round 3 went on from round 1, and round 5 from a base."""
    scored = evaluation_frame({"before": [False] * 4, "after": [True, True, False, False]})
    parents = {1: None, 2: "round-1", 3: "round-1", 4: "round-3", 5: None, 6: "round-4"}
    return pl.concat([trend_rows(f"round-{number}", number, scored, of) for number, of in parents.items()])


def test_a_line_is_drawn_from_a_round_to_its_parent_alone(branched):
    joined = {point.number: point.joined for point in course_of(branched, "sampled").points}
    assert joined == {0: None, 1: 0, 2: 1, 3: 1, 4: 3, 5: None, 6: 4}
    axes = Segments()
    plots._draw_course("sampled", course_of(branched, "sampled"), axes)
    assert axes.drawn == [(0, 1), (1, 2), (1, 3), (3, 4), (4, 6)]
    assert axes.looks == {"none"}  # the points themselves are not joined


def test_rounds_that_the_newest_does_not_come_from_are_told_beside_its_line(branched):
    told = "0.00 → 0.50 → 0.50 → 0.50 → 0.50 (beside it: 0.50 after round 2, 0.50 after round 5)"
    assert told in accuracy_by_round(branched).line


def test_a_round_that_names_itself_or_a_later_one_as_its_parent_stands_alone():
    scored = evaluation_frame({"before": [False], "after": [True]})
    trend = pl.concat([trend_rows("a", 1, scored, "b"), trend_rows("b", 2, scored, "b")])
    assert [point.joined for point in course_of(trend, "sampled").points] == [None, 0, None]


def test_a_round_made_again_takes_the_place_of_its_rows():
    rows = trend_rows("round-0001", 1, evaluation_frame({"before": [False], "after": [True]}))
    assert whole_trend(rows, rows).equals(whole_trend(EMPTY, rows))


@pytest.mark.parametrize(
    ("values", "bars"), [([], ""), ([1.0], "▅"), ([0.0, 1.0], "▁█"), ([0.0] * 400, "▅" * 40)]
)
def test_a_series_is_told_in_a_line_of_bars(values, bars):
    assert sparkline(values) == bars
