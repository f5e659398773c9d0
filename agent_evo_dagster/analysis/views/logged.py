"""The evidence of training: the metrics that findings rest on, and some answers to read. No diagnosis."""

import re
from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from agent_evo_dagster.analysis.display import bounded
from agent_evo_dagster.analysis.frames import select
from agent_evo_dagster.analysis.plots import sparkline
from agent_evo_dagster.analysis.text import excerpt, fixed, number, plural
from agent_evo_dagster.analysis.views.page import (
    Excerpt,
    FindingList,
    FindingView,
    Reference,
    StepView,
    Table,
)

ANCHOR = "metrics"
MOST_TEXT = 700  # characters of each text of an answer
_EACH = 2  # answers of the best, and of the worst
_NAMED = re.compile(r"(?P<metric>.+)@[0-9]+-[0-9]+")
_ROLLOUTS = ("step", "group", "prompt", "answer", "text", "reward", "finish", "turns", "tool_errors")


def with_metrics(found: FindingList) -> FindingList:
    """The findings with links to the table of the metrics that are their evidence."""
    return replace(found, shown=tuple(replace(one, places=_places(one)) for one in found.shown))


def _places(finding: FindingView) -> tuple[Reference, ...]:
    named = [_NAMED.fullmatch(item) for item in finding.evidence]
    metrics = ", ".join(found["metric"] for found in named if found is not None)
    return (Reference(ANCHOR, metrics),) if metrics else ()


def metric_table(metrics: pl.DataFrame, findings: Iterable[FindingView]) -> Table:
    """How each metric went that a finding names, and the reward."""
    named = {
        found["metric"] for one in findings for item in one.evidence if (found := _NAMED.fullmatch(item))
    }
    rows = () if metrics.is_empty() else tuple(_metric_rows(metrics, {"reward", *named}))
    columns = ("Metric", "Steps", "First step", "Last step", "Lowest", "Highest", "Course")
    caption = "Metrics that the findings in training rest on, step by step"
    return Table(caption, columns, rows, frozenset(range(1, 6)), "Nothing was logged.", anchor=ANCHOR)


def _metric_rows(metrics: pl.DataFrame, names: Iterable[str]) -> Iterable[tuple[str, ...]]:
    logged = select(metrics, ("step", "name", "value"), what="metrics").sort("step")
    for name in sorted(names):
        rows = logged.filter(pl.col("name") == name)
        values = [value for value in rows["value"] if value is not None]
        if values:
            ends = (values[0], values[-1], min(values), max(values))
            yield (name, f"{rows['step'][0]}-{rows['step'][-1]}", *map(number, ends), sparkline(values))


def answers(rollouts: pl.DataFrame) -> tuple[Excerpt, ...]:
    """The best and the worst answers of the last step of training, to read; none where none is kept."""
    if rollouts.is_empty():
        return ()
    known = select(rollouts, _ROLLOUTS, what="rollouts").filter(pl.col("reward").is_finite())
    last = known.filter(pl.col("step") == pl.col("step").max()).sort("reward", "group", maintain_order=True)
    picked = pl.concat([last.tail(_EACH).reverse(), last.head(max(0, min(_EACH, last.height - _EACH)))])
    if picked.is_empty():
        return ()
    steps = tuple(_answer(count, row) for count, row in enumerate(picked.iter_rows(named=True), start=1))
    title = f"Answers of training step {picked['step'][0]}, the best and the worst"
    return (Excerpt("training", title, plural(last.height, "answer") + " in all", steps),)


def _answer(count: int, row: dict[str, object]) -> StepView:
    texts = (("Task", row["prompt"]), ("Expected", row["answer"]), ("Answer", row["text"]))
    facts = (
        f"reward {fixed(float(str(row['reward'])), 3)}",
        plural(int(str(row["turns"])), "turn"),
        plural(int(str(row["tool_errors"])), "tool error"),
    )
    return StepView(
        anchor=f"answer-{count}",
        number=count,
        title=facts[0],
        gist=excerpt(str(row["prompt"]), 90),
        outcome=str(row["finish"]),
        facts=facts,
        texts=tuple((label, bounded(str(text), MOST_TEXT)) for label, text in texts if text),
        findings=(),
    )
