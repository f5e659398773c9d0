"""How good the trained model is: before and after, and over rounds. No plots, no verdict."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from agent_evo_dagster.analysis.frames import rows_of, select
from agent_evo_dagster.analysis.text import fixed, number, signed
from agent_evo_dagster.analysis.types import TREND_SCHEMA
from agent_evo_dagster.analysis.views.page import Card, Table
from agent_evo_dagster.evaluation.summary import difference, summarise

_ROLLOUT_COLUMNS = ("reward", "finish", "turns", "tool_errors")


def trend_rows(
    round_key: str, round_number: int, evaluation: pl.DataFrame, parent: str | None = None
) -> pl.DataFrame:
    """The rows of TREND_SCHEMA that one round's evaluation gives; `parent` is what it goes on from.

    Raises:
        EvaluationError: a score is missing or not finite.
    """
    if evaluation.is_empty():
        return pl.DataFrame(schema=TREND_SCHEMA)
    known = summarise(evaluation).with_columns(
        pl.lit(round_key).alias("round"),
        pl.lit(round_number, pl.Int64).alias("number"),
        pl.lit(parent, pl.String).alias("parent"),
    )
    return known.select(TREND_SCHEMA.names())


def whole_trend(earlier: pl.DataFrame, this_round: pl.DataFrame) -> pl.DataFrame:
    """The rows of earlier rounds and of this one, which replaces any of its key; in order of number."""
    given = earlier if earlier.width else pl.DataFrame(schema=TREND_SCHEMA)
    known = select(given, TREND_SCHEMA.names(), what="earlier rounds")
    kept = known.filter(~pl.col("round").is_in(this_round["round"].unique().to_list()))
    return pl.concat([kept, this_round]).sort(["number", "mode", "policy"], descending=[False, True, True])


@dataclass(frozen=True, slots=True)
class Change:
    """What training changed in one measure of one mode, paired by task, with its interval."""

    mode: str
    measure: str
    tasks: int
    before: float
    after: float
    difference: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """The difference with its interval."""
        return f"{signed(self.difference)} [{signed(self.low)}, {signed(self.high)}]"


Changes = Mapping[tuple[str, str], Change]  # by mode and measure


def changes_of(evaluation: pl.DataFrame) -> Changes:
    """Every measured change; none where before and after were not both scored.

    Raises:
        EvaluationError: the two were not scored on the same tasks, or a score is not finite.
    """
    if evaluation.is_empty() or not {"before", "after"} <= set(evaluation["policy"].unique()):
        return {}
    found = [Change(**row) for row in difference(evaluation).to_dicts()]
    return {(change.mode, change.measure): change for change in found}


def policy_card(changes: Changes) -> Card:
    """Accuracy before and after training."""
    sampled, greedy = changes.get(("sampled", "accuracy")), changes.get(("greedy", "accuracy"))
    if sampled is None:
        return Card("Held-out accuracy", "not measured", ("The model was not scored before and after.",))
    notes = [f"{sampled.words}, sampled, {sampled.tasks} tasks"]
    if greedy is not None:
        notes.append(f"greedy {fixed(greedy.before)} → {fixed(greedy.after)}, {greedy.words}")
    return Card("Held-out accuracy", f"{fixed(sampled.before)} → {fixed(sampled.after)}", tuple(notes))


def before_and_after(changes: Changes) -> Table:
    """Both measures in both modes, with paired differences."""
    keys = [(mode, measure) for mode in ("sampled", "greedy") for measure in ("accuracy", "reward")]
    known = [changes[key] for key in keys if key in changes]
    rows = tuple(
        (one.mode, one.measure, str(one.tasks), fixed(one.before, 3), fixed(one.after, 3), one.words)
        for one in known
    )
    columns = ("Decoding", "Measure", "Tasks", "Before", "After", "Difference [interval]")
    caption = "Held-out tasks before and after this round's training"
    return Table(caption, columns, rows, frozenset({2, 3, 4, 5}), "Nothing was evaluated.")


def trend_table(trend: pl.DataFrame, most: int = 10) -> Table:
    """Accuracy of the last known rounds, with intervals."""
    known = rows_of(trend, TREND_SCHEMA.names(), what="earlier rounds")
    rounds = list(dict.fromkeys(row["round"] for row in known))
    rows = tuple(
        (
            str(row["round"]), str(row["mode"]), str(row["policy"]), str(row["tasks"]),
            f"{fixed(row['accuracy'])} [{fixed(row['accuracy_low'])}, {fixed(row['accuracy_high'])}]",
            fixed(row["reward"]),
        )
        for row in known
        if row["round"] in rounds[-most:]
    )  # fmt: skip
    left = f" (the last {most} of {len(rounds)})" if len(rounds) > most else ""
    columns = ("Round", "Decoding", "Model", "Tasks", "Accuracy [interval]", "Reward")
    caption = f"Held-out accuracy by round{left}"
    return Table(caption, columns, rows, frozenset({3, 4, 5}), "Nothing was evaluated.")


def rollout_table(rollouts: pl.DataFrame) -> Table:
    """How rollouts ended, with their mean reward."""
    columns = ("Ended by", "Rollouts", "Share %", "Reward", "Turns", "Tool errors")
    rows = () if rollouts.is_empty() else tuple(map(_ended_row, _ended(rollouts)))
    return Table("How training rollouts ended", columns, rows, frozenset(range(1, 6)), "No rollout is kept.")


def _ended(rollouts: pl.DataFrame) -> list[tuple[object, int, float, float, float, float]]:
    frame = select(rollouts, _ROLLOUT_COLUMNS, what="rollouts")
    means = [pl.col(name).mean() for name in ("reward", "turns", "tool_errors")]
    share = (pl.len() * 100 / frame.height).alias("share")
    ended = frame.group_by("finish").agg(pl.len(), share, *means)
    return ended.sort(["len", "finish"], descending=[True, False]).rows()


def _ended_row(row: tuple[object, int, float, float, float, float]) -> tuple[str, ...]:
    finish, count, share, *means = row
    return (str(finish), str(count), number(share), *map(fixed, means))
