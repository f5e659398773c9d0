"""Whether findings hold: those of earlier sessions, measured on later ones, against the commonest errors.

Sessions are put in the order of their first event and cut in two. What the earlier part shows is compared
with what the later part shows, session by session. Two findings are the same trouble where their kind and
subject are.

Coverage is the share of later failures (calls that failed) that a finding of the earlier part had named: the
failure is evidence of a later finding that is the same trouble. The same share over all later troubles, those
without a failing call too, is told beside it. Precision is the share of earlier findings that occur again.
The baseline names the `k` commonest errors of the earlier part, by tool and normalised error; findings are
held to the first `k` about failures, in the order in which they are told. Intervals are of a bootstrap over
later sessions, and over findings where a share of them is taken; what is compared is drawn together. Where
all or none hit, draws do not differ: there Wilson's interval is told, over the units that are drawn.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import fmean
from typing import TypeAlias

import polars as pl

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.detectors.protocol import SessionDetector
from agent_evo_dagster.analysis.findings import ordered, subject_of
from agent_evo_dagster.analysis.sessions import look
from agent_evo_dagster.analysis.types import Finding
from agent_evo_dagster.analysis.view import Sessions, SkillTexts, read_sessions
from agent_evo_dagster.errors import AnalysisError
from agent_evo_dagster.evaluation.intervals import wilson

Trouble: TypeAlias = tuple[str, ...]  # kind and subject

NO_TROUBLE = frozenset({"effort"})  # kinds that tell what was done, not what went wrong
RESAMPLES = 2000
_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its 95 % interval; null where there was nothing to take a share of.

    A difference of shares has no interval where every draw gives the same: so few sessions tell no spread.
    """

    value: float | None
    low: float | None
    high: float | None
    hits: int
    of: int


@dataclass(frozen=True, slots=True)
class KindRow:
    """How the findings of one kind held: those of the earlier part, and how many of them occurred again."""

    kind: str
    earlier: int
    again: int
    later: int  # different troubles of the kind in the later part


@dataclass(frozen=True, slots=True)
class Backtest:
    """What a back-test measured."""

    split: float
    k: int
    sessions: tuple[int, int]  # earlier, later
    calls: tuple[int, int]
    failures: tuple[int, int]
    precision: Rate  # of all earlier findings
    coverage: Rate  # of later failures, by all earlier findings
    trouble_coverage: Rate  # of later troubles, each once for its session, by all earlier findings
    precision_at_k: Rate  # of the first k findings about failures
    coverage_at_k: Rate
    baseline_precision: Rate  # of the k commonest errors
    baseline_coverage: Rate
    coverage_gain: Rate  # findings at k minus baseline, drawn together
    kinds: tuple[KindRow, ...]


@dataclass(slots=True)
class _Later:
    """One later session: its troubles, and for each failure the troubles that it is evidence of."""

    troubles: set[Trouble] = field(default_factory=set)
    failures: list[tuple[set[Trouble], Trouble]] = field(default_factory=list)  # and its error


def backtest(
    steps: pl.DataFrame,
    segments: pl.DataFrame,
    *,
    split: float = 0.6,
    k: int = 10,
    seed: int = 0,
    skills: SkillTexts | None = None,
    detectors: Sequence[SessionDetector] | None = None,
) -> Backtest:
    """Measure the findings of the first `split` of the sessions on the rest.

    Raises:
        AnalysisError: a frame lacks a column, `split` is not between 0 and 1, or a part has no session.
    """
    order = session_order(steps)
    cut = round(split * len(order)) if 0 < split < 1 else 0
    if not 0 < split < 1 or not 0 < cut < len(order):
        raise AnalysisError(
            f"A back-test needs a split between 0 and 1 that leaves sessions on both sides; "
            f"{split} of {len(order)} sessions leaves {cut} and {len(order) - cut}."
        )
    before = read_sessions(*_of(steps, segments, order[:cut]), skills=skills)
    found = [one for one in ordered(look(before, detectors)) if one.kind not in NO_TROUBLE]
    parts = [_of(steps, segments, [name]) for name in order[cut:]]
    after = [_later(read_sessions(*part, skills=skills), detectors) for part in parts]
    trial = _Trial([call for call in before.calls if call.failed], found, after, k, _draws(len(after), seed))
    return Backtest(
        split=split,
        k=k,
        sessions=(cut, len(after)),
        calls=(len(before.calls), sum(_calls(part[0]) for part in parts)),
        failures=(len(trial.failed), sum(len(one.failures) for one in after)),
        **trial.rates(),
        kinds=_by_kind(trial.troubles, after),
    )


def session_order(steps: pl.DataFrame) -> list[str]:
    """The sessions by the time of their first step, then by name."""
    if steps.is_empty():
        return []
    starts = steps.group_by("session_id").agg(pl.col("started_at").min()).rows()
    return [
        name
        for name, _ in sorted(starts, key=lambda row: (row[1] or datetime.max.replace(tzinfo=UTC), row[0]))
    ]


def _of(
    steps: pl.DataFrame, segments: pl.DataFrame, names: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    chosen = pl.col("session_id").is_in(list(names))
    return steps.filter(chosen), segments.filter(chosen)


def _calls(steps: pl.DataFrame) -> int:
    return steps.filter(pl.col("kind") == "tool_call").height


def _trouble(finding: Finding) -> Trouble:
    return subject_of(finding.kind, finding.data, finding.summary)


def _error(call: Call) -> Trouble:
    return call.tool, call.signature


def _later(session: Sessions, detectors: Sequence[SessionDetector] | None) -> _Later:
    later, evidence = _Later(), dict[str, set[Trouble]]()
    for finding in look(session, detectors):
        if finding.kind not in NO_TROUBLE:
            trouble = _trouble(finding)
            later.troubles.add(trouble)
            for item in finding.evidence:
                evidence.setdefault(item, set()).add(trouble)
    failed = [call for call in session.calls if call.failed]
    later.failures = [(evidence.get(call.step_id, set()), _error(call)) for call in failed]
    return later


@dataclass(frozen=True, slots=True)
class _Trial:
    """What the earlier part showed, and the later sessions to measure it on."""

    failed: Sequence[Call]
    found: Sequence[Finding]
    after: Sequence[_Later]
    k: int
    draws: Sequence[Sequence[int]]

    @property
    def troubles(self) -> list[Trouble]:
        """Of all findings, in their order."""
        return list(dict.fromkeys(map(_trouble, self.found)))

    @property
    def first(self) -> list[Trouble]:
        """Of the first `k` findings that have a failing call among their evidence."""
        failing = {call.step_id for call in self.failed}
        about = [_trouble(one) for one in self.found if failing.intersection(one.evidence)]
        return list(dict.fromkeys(about))[: self.k]

    @property
    def commonest(self) -> list[Trouble]:
        """The `k` commonest errors."""
        counted = Counter(map(_error, self.failed)).items()
        return [error for error, _ in sorted(counted, key=lambda item: (-item[1], item[0]))[: self.k]]

    def rates(self) -> dict[str, Rate]:
        """Every rate of a back-test by its name."""
        named, first, errors = set(self.troubles), set(self.first), set(self.commonest)
        shown = [one.troubles for one in self.after]
        erred = [{error for _, error in one.failures} for one in self.after]
        at_k = self._covered(lambda seen, _: bool(seen & first))
        base = self._covered(lambda _, error: error in errors)
        gain = [(hit - other, of) for (hit, of), (other, _) in zip(at_k, base, strict=True)]
        return {
            "precision": _recurrence(self.troubles, shown, self.draws),
            "coverage": _ratio(self._covered(lambda seen, _: bool(seen & named)), self.draws),
            "trouble_coverage": _ratio([(len(one & named), len(one)) for one in shown], self.draws),
            "precision_at_k": _recurrence(self.first, shown, self.draws),
            "coverage_at_k": _ratio(at_k, self.draws),
            "baseline_precision": _recurrence(self.commonest, erred, self.draws),
            "baseline_coverage": _ratio(base, self.draws),
            "coverage_gain": _ratio(gain, self.draws, signed=True),
        }

    def _covered(self, by: Callable[[set[Trouble], Trouble], bool]) -> list[tuple[int, int]]:
        """Of each later session, the failures that `by` says were named, and all of them."""
        return [(sum(by(*failure) for failure in one.failures), len(one.failures)) for one in self.after]


def _by_kind(troubles: Sequence[Trouble], after: Sequence[_Later]) -> tuple[KindRow, ...]:
    later = {trouble for one in after for trouble in one.troubles}
    kinds = sorted({trouble[0] for trouble in (*troubles, *later)})
    rows = []
    for kind in kinds:
        own = [trouble for trouble in troubles if trouble[0] == kind]
        again = sum(trouble in later for trouble in own)
        rows.append(KindRow(kind, len(own), again, sum(trouble[0] == kind for trouble in later)))
    return tuple(rows)


def _draws(size: int, seed: int) -> list[list[int]]:
    rng = random.Random(seed)
    return [rng.choices(range(size), k=size) for _ in range(RESAMPLES)]


def _ratio(parts: Sequence[tuple[int, int]], draws: Sequence[Sequence[int]], *, signed: bool = False) -> Rate:
    """The sum of the hits over the sum of the rest, with the interval that drawing sessions gives."""
    hits, of = (sum(part[side] for part in parts) for side in (0, 1))
    if not of:
        return Rate(None, None, None, 0, 0)
    values = []
    for draw in draws:
        whole = sum(parts[at][1] for at in draw)
        if whole:  # a draw without any failure says nothing of coverage
            values.append(sum(parts[at][0] for at in draw) / whole)
    if signed:  # a difference: 0 is no bound of it
        alike = min(values) == max(values)
        return Rate(hits / of, None, None, hits, of) if alike else _percentiles(hits, of, values)
    return _with_interval(hits, of, values, units=sum(part[1] > 0 for part in parts))


def _recurrence(
    wanted: Sequence[Trouble], later: Sequence[set[Trouble]], draws: Sequence[Sequence[int]]
) -> Rate:
    """The share of `wanted` that a later session has, drawn over sessions and over `wanted`.

    Sessions drawn with replacement are fewer different ones, and show less again. So the upper bound is moved
    by the difference of the share and the draws' mean; the lower one stays where it is.
    """
    if not wanted:
        return Rate(None, None, None, 0, 0)
    places = [{at for at, one in enumerate(later) if trouble in one} for trouble in wanted]
    hits = sum(map(bool, places))
    rng, values = random.Random(len(wanted)), []
    for draw in draws:
        drawn, chosen = set(draw), rng.choices(places, k=len(places))
        values.append(sum(bool(place & drawn) for place in chosen) / len(wanted))
    rate = _with_interval(hits, len(wanted), values, units=len(wanted))
    upper = values[-1 - int(_TAIL * len(values))] + hits / len(wanted) - fmean(values)
    return replace(rate, high=min(1.0, max(hits / len(wanted), upper))) if 0 < hits < len(wanted) else rate


def _with_interval(hits: int, of: int, values: list[float], *, units: int) -> Rate:
    if hits in (0, of):
        bounds = wilson(units * hits / of, units)
        return Rate(hits / of, bounds.low, bounds.high, hits, of)
    return _percentiles(hits, of, values)


def _percentiles(hits: int, of: int, values: list[float]) -> Rate:
    values.sort()
    cut, value = int(_TAIL * len(values)), hits / of
    return Rate(value, min(value, values[cut]), max(value, values[-1 - cut]), hits, of)
