"""Plots of the report, as SVG and PNG whose bytes depend on the data alone. No page, no judgement."""

import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any

import polars as pl

from agent_evo_dagster.analysis.diagnoses.rise import ends_words, slope_words
from agent_evo_dagster.analysis.frames import select
from agent_evo_dagster.analysis.series import Series
from agent_evo_dagster.analysis.text import fixed
from agent_evo_dagster.analysis.thresholds import load_thresholds
from agent_evo_dagster.analysis.views.course import Course, course_of
from agent_evo_dagster.analysis.views.page import Plot
from agent_evo_dagster.extras import require

_SIZE = (4.8, 3.1)  # inches: readable at the width of a phone
_STYLE = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#5b6570",
    "axes.labelcolor": "#1c2430",
    "xtick.color": "#3a4450",
    "ytick.color": "#3a4450",
    "axes.grid": True,
    "grid.color": "#e3e7ec",
    "grid.linewidth": 0.8,
    "svg.hashsalt": "agent-evo",
    "svg.fonttype": "path",
}
_BLUE, _ORANGE, _GREY = "#1b5fa7", "#a84f00", "#5b6570"
# Colour, marker, dashes and shift of each mode: told apart without colour too.
_LOOK = {"sampled": (_BLUE, "o", "-", -0.03), "greedy": (_ORANGE, "s", "--", 0.03)}
_BARS = "▁▂▃▄▅▆▇█"
_Z95 = 1.96
_ENDS = 6  # figures of the first rounds, and of the last, where there are many
_MOST_TICKS = 12  # rounds that the axis names


def reward_by_step(metrics: pl.DataFrame, rollouts: pl.DataFrame) -> Plot:
    """Training reward of each step, with the interval of its mean over groups where rollouts are there."""
    points = _reward_points(metrics, rollouts)
    title = "Training reward by step"
    if not points:
        return drawing("reward_by_step", title, "No reward was logged.", "no reward was logged", _no_data)
    (first, start, _), (last, end, _) = points[0], points[-1]
    bars, trend = sparkline([mean for _, mean, _ in points]), _trend(points)
    told = f"{fixed(start)} at step {first}, {fixed(end)} at step {last}"
    course = "" if trend is None else f"; {ends_words(trend)}; slope {slope_words(trend)}"
    alt = f"Mean training reward by step: {told}{course}."
    return drawing(
        "reward_by_step", title, alt, f"{bars}  {told}{course}", partial(_draw_reward, points, trend)
    )


def _trend(points: Sequence[tuple[int, float, float]]) -> Series | None:
    """The steps that findings judge; None where they are too few for a trend."""
    window = load_thresholds().window
    steps, means, _ = zip(*points, strict=True)
    return (
        Series("reward", steps, means).last_steps(window.maximum_steps)
        if len(steps) >= window.minimum_steps
        else None
    )


def _draw_reward(points: Sequence[tuple[int, float, float]], trend: Series | None, axes: Any) -> None:
    steps, means, halves = zip(*points, strict=True)
    if any(halves):
        low = [mean - half for mean, half in zip(means, halves, strict=True)]
        high = [mean + half for mean, half in zip(means, halves, strict=True)]
        axes.fill_between(steps, low, high, color=_BLUE, alpha=0.16, linewidth=0, label="95 % interval")
    axes.plot(steps, means, color=_BLUE, marker="o", markersize=4, linewidth=1.8, label="mean reward")
    if trend is not None:
        _draw_trend(trend, axes)
    axes.set_xlabel("training step")
    axes.set_ylabel("reward")
    axes.xaxis.get_major_locator().set_params(integer=True)
    if min(means) >= 0 and max(means) <= 1:
        axes.set_ylim(0, 1.02)  # the room above is part of the picture
    _legend(axes)


def _draw_trend(trend: Series, axes: Any) -> None:
    """The slope, through the middle of the points, and the means that texts tell as the ends."""
    slope, steps = trend.trend.slope, trend.steps
    at = median(value - slope * step for step, value in zip(steps, trend.values, strict=True))
    line = [at + slope * step for step in (steps[0], steps[-1])]
    axes.plot((steps[0], steps[-1]), line, color=_ORANGE, linestyle="--", linewidth=1.4, label="slope")
    label = "mean of first and last quarter"
    for quarter, mean in ((steps[: trend.quarter], trend.start), (steps[-trend.quarter :], trend.end)):
        axes.plot((quarter[0], quarter[-1]), (mean, mean), color=_GREY, linewidth=3.2, label=label)
        label = ""  # named once


def _no_data(axes: Any) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, "no data", ha="center", va="center", color=_GREY, transform=axes.transAxes)


def _reward_points(metrics: pl.DataFrame, rollouts: pl.DataFrame) -> list[tuple[int, float, float]]:
    """Step, mean reward, and half the width of its 95 % interval (0 where it is not known)."""
    halves: dict[int, tuple[float, float]] = {}
    if not rollouts.is_empty():
        frame = select(rollouts, ("step", "group", "reward"), what="rollouts").filter(
            pl.col("reward").is_finite()
        )
        groups = frame.group_by("step", "group", maintain_order=True).agg(pl.col("reward").mean())
        spread = (pl.col("reward").std() / pl.len().sqrt() * _Z95).fill_null(0.0)
        by_step = groups.group_by("step", maintain_order=True).agg(
            pl.col("reward").mean().alias("mean"), spread.alias("half")
        )
        halves = {step: (mean, half) for step, mean, half in by_step.iter_rows()}
    if metrics.is_empty():
        return [(step, *halves[step]) for step in sorted(halves)]
    logged = select(metrics, ("step", "name", "value"), what="metrics").filter(
        (pl.col("name") == "reward") & pl.col("value").is_finite()
    )
    rewards = dict(logged.select("step", "value").iter_rows())
    return [(step, rewards[step], halves.get(step, (0.0, 0.0))[1]) for step in sorted(rewards)]


def accuracy_by_round(trend: pl.DataFrame) -> Plot:
    """Held-out accuracy after each round, with intervals, joined to the round that it goes on from."""
    courses = {mode: course for mode in _LOOK if (course := course_of(trend, mode))}
    title = "Held-out accuracy by round"
    if not courses:
        return drawing(
            "accuracy_by_round", title, "Nothing was evaluated.", "nothing was evaluated", _no_data
        )
    alt = "; ".join(f"{mode} {', '.join(_figures(one))}{_beside(one)}" for mode, one in courses.items())
    lines = [
        f"{mode} {sparkline(_along(one), 0, 1)}  {' → '.join(_figures(one))}{_beside(one)}"
        for mode, one in courses.items()
    ]
    return drawing(
        "accuracy_by_round",
        title,
        f"Held-out accuracy, from before the first of the rounds that led to the newest: {alt}.",
        "; ".join(lines),
        partial(_draw_accuracy, courses),
    )


def _along(course: Course) -> list[float]:
    """The accuracy along the line that leads to the newest round."""
    begun = () if course.start is None else (course.start,)
    return [point.accuracy for point in (*begun, *course.line)]


def _figures(course: Course) -> list[str]:
    return _some(list(map(fixed, _along(course))))


def _beside(course: Course) -> str:
    """The rounds that no round of the line goes on from."""
    told = [f"{fixed(point.accuracy)} after round {point.number}" for point in course.beside]
    return f" (beside it: {', '.join(_some(told))})" if told else ""


def _some(told: Sequence[str]) -> list[str]:
    """What is told; of many the first and the last ones."""
    return list(told) if len(told) <= 2 * _ENDS else [*told[:_ENDS], "…", *told[-_ENDS:]]


def _draw_accuracy(courses: Mapping[str, Course], axes: Any) -> None:
    for mode, course in courses.items():
        _draw_course(mode, course, axes)
    ticks = sorted({point.number for course in courses.values() for point in course.points})
    started = min(point.number for course in courses.values() for point in course.line + course.beside)
    named = ticks[:: -(-len(ticks) // _MOST_TICKS)]
    axes.set_xticks(named, ["start" if tick < started else str(tick) for tick in named])
    axes.set_xlim(ticks[0] - 0.3, ticks[-1] + 0.3)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("after round")
    axes.set_ylabel("held-out accuracy, 95 % interval")
    _legend(axes)


def _draw_course(mode: str, course: Course, axes: Any) -> None:
    """Each point, and a line from it to the one that it goes on from; no other."""
    colour, marker, dashes, shift = _LOOK[mode]
    heights = {point.number: point.accuracy for point in course.points}
    for point in course.points:
        if (origin := point.joined) is not None:
            ends = (heights[origin], point.accuracy)
            axes.plot(
                (origin + shift, point.number + shift), ends, color=colour, linestyle=dashes, linewidth=1.8
            )
    means = list(heights.values())
    below = [point.accuracy - point.low for point in course.points]
    above = [point.high - point.accuracy for point in course.points]
    axes.errorbar(
        [number + shift for number in heights], means, yerr=[below, above], color=colour, marker=marker,
        linestyle="none", capsize=3, markersize=5, label=mode,
    )  # fmt: skip


def _legend(axes: Any) -> None:
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0)


def sparkline(values: Sequence[float], low: float | None = None, high: float | None = None) -> str:
    """The values as a line of bars, at most 40; the range is that of the values unless given."""
    width = max(1, -(-len(values) // 40))
    shown = [fmean(values[at : at + width]) for at in range(0, len(values), width)]
    floor = min(shown, default=0.0) if low is None else low
    top = max(shown, default=0.0) if high is None else high
    span = top - floor
    levels = [(value - floor) / span if span > 0 else 0.5 for value in shown]
    return "".join(_BARS[min(7, max(0, int(level * 8)))] for level in levels)


def drawing(name: str, title: str, alt: str, line: str, draw: Callable[[Any], None]) -> Plot:
    """What `draw` puts on a pair of axes, in the look of the report.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    matplotlib = require("matplotlib", extra="plots", feature="A plot of the report")
    figures = require("matplotlib.figure", extra="plots", feature="A plot of the report")
    with matplotlib.rc_context(_STYLE):
        figure = figures.Figure(figsize=_SIZE, layout="constrained")
        draw(figure.add_subplot())
        svg = _bytes(figure, "svg", {"Date": None, "Creator": None})
        png = _bytes(figure, "png", {"Software": None})
    return Plot(name, title, alt, line, svg, png)


def _bytes(figure: Any, kind: str, metadata: dict[str, None]) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, metadata=metadata, dpi=144)
    return stream.getvalue()
