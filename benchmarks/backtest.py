"""Whether findings of earlier sessions come true in later ones, at three cuts in time.

`python -m benchmarks.backtest PATH [--splits .5,.6,.7] [--figure FILE.svg]` takes recorded sessions and
measures them as `agent-evo backtest` does, and draws every share that can be measured.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from agent_evo_dagster.analysis.backtest import Backtest, Rate, backtest
from agent_evo_dagster.analysis.plots import drawing
from agent_evo_dagster.analysis.text import fixed
from agent_evo_dagster.analysis.views.page import Plot
from agent_evo_dagster.cli.backtest import read_recordings
from agent_evo_dagster.files import write_atomic

# Each share that is drawn, with its name in the picture.
SHARES: Mapping[str, str] = {
    "coverage": "coverage of\nlater failures",
    "baseline_coverage": "the same by the\ncommonest errors",
    "trouble_coverage": "coverage of\nlater troubles",
    "precision": "findings that\noccur again",
}
_LOOKS = (("#1b5fa7", "o"), ("#a84f00", "s"), ("#5b6570", "^"))
_APART = 0.22  # of the room between two shares


def measured(path: Path, splits: Sequence[float]) -> list[Backtest]:
    """A back-test for each split.

    Raises:
        AgentEvoError: the path cannot be read, or a split leaves a side without sessions.
    """
    steps, segments = read_recordings(path)
    return [backtest(steps, segments, split=split) for split in splits]


def table(results: Sequence[Backtest]) -> str:
    """Every share with its interval, a line for each split; plain text."""
    lines = []
    for one in results:
        shares = "; ".join(f"{name} {_shown(getattr(one, name))}" for name in SHARES)
        earlier, later = one.sessions
        lines.append(f"split {one.split:g}: {earlier} + {later} sessions, failures {one.failures}; {shares}")
    return "\n".join(lines)


def drawn(results: Sequence[Backtest]) -> Plot:
    """Every share with its interval, by split; what cannot be measured is said, not drawn."""
    title = "Findings of earlier sessions, measured on later ones"
    return drawing(
        "backtest", title, f"{title}: {table(results)}.", table(results[:1]), partial(_draw, results)
    )


def _draw(results: Sequence[Backtest], axes: Any) -> None:
    for number, one in enumerate(results):
        colour, marker = _LOOKS[number]
        shift = _APART * (number - (len(results) - 1) / 2)
        rates = [(at + shift, getattr(one, name)) for at, name in enumerate(SHARES)]
        found = [(at, rate) for at, rate in rates if rate.value is not None]
        errors = [
            [rate.value - rate.low for _, rate in found],
            [rate.high - rate.value for _, rate in found],
        ]
        axes.errorbar(
            [at for at, _ in found], [rate.value for _, rate in found], yerr=errors, color=colour,
            marker=marker, linestyle="", capsize=3, markersize=5, label=f"split {one.split:g}",
        )  # fmt: skip
    for at, name in enumerate(SHARES):
        if all(getattr(one, name).value is None for one in results):
            axes.text(at, 0.5, "nothing to\nmeasure", ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(SHARES)), list(SHARES.values()), fontsize=8)
    axes.set_xlim(-0.5, len(SHARES) - 0.5)
    axes.set_ylim(0, 1.02)
    axes.set_ylabel("share, 95 % interval")
    axes.legend(frameon=False, fontsize=9, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0)


def _shown(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return "not measurable"
    return f"{fixed(rate.value, 3)} [{fixed(rate.low, 3)}, {fixed(rate.high, 3)}] of {rate.of}"


def main() -> None:
    """Measure, draw where asked, and print the table and one line of JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--splits", default=".5,.6,.7", help="shares of the sessions, at most three")
    parser.add_argument("--figure", type=Path, help="where to draw it, as SVG")
    asked = parser.parse_args()
    results = measured(asked.path, [float(split) for split in asked.splits.split(",")])
    if asked.figure is not None:
        write_atomic(asked.figure, drawn(results).svg)
    print(table(results))
    print(json.dumps({"benchmark": "backtest", "results": [asdict(one) for one in results]}, sort_keys=True))


if __name__ == "__main__":
    main()
