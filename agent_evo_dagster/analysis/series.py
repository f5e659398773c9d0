"""What a training run showed: series of metrics, figures of rollouts and of held-out tasks. No judgement."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean

import polars as pl

from agent_evo_dagster.analysis.frames import rows_of, select
from agent_evo_dagster.analysis.thresholds import Thresholds
from agent_evo_dagster.analysis.trends import Trend, theil_sen

Settings = Mapping[str, float | int | str]

_HUGE = 1e100  # sums and slopes of larger values overflow: such a value is no more finite than infinity
_METRIC_COLUMNS = ("step", "name", "value", "finite")
_EVALUATION_COLUMNS = ("policy", "mode", "correct")
_ROLLOUT_COLUMNS = ("step", "group", "reward", "finish", "completion_ids")


@dataclass(frozen=True, slots=True)
class Series:
    """The finite values of one metric by step, and the steps where it was not finite."""

    name: str
    steps: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    broken: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.values)

    def last_steps(self, count: int) -> "Series":
        """The last `count` of its points."""
        return Series(self.name, self.steps[-count:], self.values[-count:], self.broken)

    def later_half(self) -> "Series":
        """The later half of its points, one at least."""
        return self.last_steps(max(1, (len(self.values) + 1) // 2))

    @property
    def mean(self) -> float | None:
        """The mean of its values."""
        return fmean(self.values) if self.values else None

    @property
    def start(self) -> float:
        """The mean of its first quarter, three points at least."""
        return fmean(self.values[: self.quarter])

    @property
    def end(self) -> float:
        """The mean of its last quarter, three points at least."""
        return fmean(self.values[-self.quarter :])

    @property
    def quarter(self) -> int:
        """How many points `start` and `end` are means of."""
        return max(3, len(self.values) // 4)

    @property
    def trend(self) -> Trend:
        """Its slope by step."""
        return theil_sen(self.steps, self.values)

    @property
    def evidence(self) -> str:
        """Its name and the range of its steps."""
        return f"{self.name}@{self.steps[0]}-{self.steps[-1]}" if self.steps else self.name


@dataclass(frozen=True, slots=True)
class RolloutFigures:
    """Figures of the rollouts of the later half of the steps."""

    rollouts: int
    finishes: Mapping[str, float]  # share of the rollouts, by why they ended
    cut_lengths: tuple[int, ...]  # tokens of the rollouts that a token limit ended
    length_reward: float | None = None  # correlation of length and reward; None where either is constant

    def share(self, finish: str) -> float:
        """The share of rollouts that ended so."""
        return self.finishes.get(finish, 0.0)


@dataclass(frozen=True, slots=True)
class Ending:
    """How the process ended: the last lines of its log, and its exit code where it is known."""

    log: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """All that is known of one training run."""

    series: Mapping[str, Series]  # by the names of the thresholds table
    rollouts: RolloutFigures
    accuracy: Mapping[str, float]  # "<mode> <policy>" -> share of held-out samples that were correct
    settings: Settings
    thresholds: Thresholds
    ending: Ending = Ending()

    def get(self, name: str) -> Series:
        """The series of that name, empty where the run did not log it."""
        return self.series.get(name, Series(name))

    def setting(self, name: str) -> float | None:
        """A setting that is a number."""
        value = self.settings.get(name)
        return float(value) if isinstance(value, int | float) else None


def read_run(
    metrics: pl.DataFrame,
    rollouts: pl.DataFrame,
    evaluation: pl.DataFrame,
    settings: Settings,
    thresholds: Thresholds,
    *,
    ending: Ending | None = None,
) -> Run:
    """The run that the frames describe. What the metrics lack is taken from the rollouts, under their name.

    Raises:
        AnalysisError: a frame has columns, but not those of its schema.
    """
    logged = _series_by_name(metrics)
    series = {name: _named(logged, name, aliases) for name, aliases in thresholds.names.items()}
    for name, from_rollouts in _series_of_rollouts(rollouts).items():
        if not series.get(name):
            series[name] = from_rollouts
    return Run(series, _figures(rollouts), _accuracy(evaluation), settings, thresholds, ending or Ending())


def _named(logged: Mapping[str, Series], name: str, aliases: Sequence[str]) -> Series:
    """The first alias that was logged; of several that a pattern fits, the first by name."""
    for alias in aliases:
        found = [key for key in sorted(logged) if fnmatchcase(key, alias)] if "*" in alias else [alias]
        if found and found[0] in logged:
            return logged[found[0]]
    return Series(name)


def _series_by_name(metrics: pl.DataFrame) -> dict[str, Series]:
    points: dict[str, dict[int, float | None]] = {}
    for row in rows_of(metrics, _METRIC_COLUMNS, what="metrics"):
        # A restarted run logs a step twice: the last one led to the weights that were kept.
        points.setdefault(row["name"], {})[row["step"]] = row["value"] if row["finite"] else None
    return {name: _series(name, by_step) for name, by_step in points.items()}


def _series(name: str, by_step: Mapping[int, float | None]) -> Series:
    kept = {
        step: value for step, value in sorted(by_step.items()) if value is not None and abs(value) < _HUGE
    }
    broken = tuple(sorted(step for step in by_step if step not in kept))
    return Series(name, tuple(kept), tuple(kept.values()), broken)


def _series_of_rollouts(rollouts: pl.DataFrame) -> dict[str, Series]:
    if rollouts.is_empty():
        return {}
    frame = select(rollouts, _ROLLOUT_COLUMNS, what="rollouts").filter(pl.col("reward").is_finite())
    # In order: a sum of the same numbers in another order may differ in its last digits.
    groups = frame.group_by("step", "group", maintain_order=True).agg(
        pl.col("reward").mean(), same=pl.col("reward").n_unique() == 1
    )
    means = groups.group_by("step", maintain_order=True).agg(pl.col("reward").mean(), pl.col("same").mean())
    by_step = means.sort("step").rows()
    return {
        "reward": _series("rollouts.reward", {step: reward for step, reward, _ in by_step}),
        "zero_variance": _series("rollouts.equal_groups", {step: same for step, _, same in by_step}),
    }


def _figures(rollouts: pl.DataFrame) -> RolloutFigures:
    if rollouts.is_empty():
        return RolloutFigures(0, {}, ())
    frame = select(rollouts, _ROLLOUT_COLUMNS, what="rollouts")
    later = frame.filter(pl.col("step") >= pl.col("step").median())
    counts = later.group_by("finish").len().sort("finish").rows()
    cut = later.filter(pl.col("finish") == "length")["completion_ids"].list.len()
    shares = {finish: count / later.height for finish, count in counts}
    return RolloutFigures(later.height, shares, tuple(cut.drop_nulls().to_list()), _length_reward(later))


def _length_reward(rollouts: pl.DataFrame) -> float | None:
    told = (
        rollouts.filter(pl.col("reward").is_finite())
        .select(pl.col("completion_ids").list.len().cast(pl.Float64).alias("length"), "reward")
        .drop_nulls()
    )
    if told["length"].n_unique() < 2 or told["reward"].n_unique() < 2:
        return None
    found = told.select(pl.corr("length", "reward")).item()
    return round(float(found), 6) if found is not None and math.isfinite(found) else None


def _accuracy(evaluation: pl.DataFrame) -> dict[str, float]:
    if evaluation.is_empty():
        return {}
    frame = select(evaluation, _EVALUATION_COLUMNS, what="evaluation")
    means = frame.group_by("mode", "policy").agg(pl.col("correct").mean()).sort("mode", "policy").rows()
    return {f"{mode} {policy}": round(share, 6) for mode, policy, share in means if share is not None}
