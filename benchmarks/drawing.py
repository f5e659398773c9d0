"""Accuracy by round, drawn: each arm's mean with its interval, and every seed as a thin line."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent_evo_dagster.analysis.plots import drawing
from agent_evo_dagster.analysis.text import fixed
from agent_evo_dagster.analysis.views.page import Plot
from agent_evo_dagster.evaluation.intervals import Interval

# Colour, marker and dashes of each line, in order: told apart without colour too.
_LOOKS = (("#1b5fa7", "o", "-"), ("#a84f00", "s", "--"), ("#5b6570", "^", ":"))
_APART = 0.06  # rounds between the error bars of two lines


@dataclass(frozen=True, slots=True)
class Line:
    """One arm: its interval at each stage (0: the start), and the mean of each seed at each stage."""

    name: str
    found: Sequence[Interval]
    seeds: Sequence[Sequence[float]]


def accuracy_by_round(name: str, title: str, lines: Sequence[Line]) -> Plot:
    """The drawing `name`, as SVG and PNG, with an alternative text; at most three lines."""
    ends = "; ".join(f"{line.name} ends at {_shown(line.found[-1])}" for line in lines)
    return drawing(name, title, f"{title}: {ends}.", ends, partial(_draw, lines))


def _draw(lines: Sequence[Line], axes: Any) -> None:
    stages = range(len(lines[0].found))
    for number, line in enumerate(lines):
        colour, marker, dashes = _LOOKS[number]
        for seed in line.seeds:
            axes.plot(stages, seed, color=colour, alpha=0.3, linewidth=0.8)
        shift = _APART * (number - (len(lines) - 1) / 2)
        errors = [
            [each.mean - each.low for each in line.found],
            [each.high - each.mean for each in line.found],
        ]
        axes.errorbar(
            [stage + shift for stage in stages], [each.mean for each in line.found], yerr=errors,
            color=colour, marker=marker, linestyle=dashes, capsize=3, linewidth=1.8, markersize=5,
            label=line.name,
        )  # fmt: skip
    axes.set_xticks(list(stages), ["start", *map(str, stages[1:])])
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("after round")
    axes.set_ylabel("held-out accuracy, 95 % interval")
    axes.legend(frameon=False, fontsize=9, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0)


def _shown(interval: Interval) -> str:
    return f"{fixed(interval.mean, 3)} [{fixed(interval.low, 3)}, {fixed(interval.high, 3)}]"
