"""Segments from steps: the chain of segmenters run over each trajectory, and the frame of their claims."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import polars as pl

from agent_evo_dagster.errors import SegmentError
from agent_evo_dagster.segments.ids import segment_id
from agent_evo_dagster.segments.registry import DEFAULT_CHAIN, segmenters
from agent_evo_dagster.segments.strategy import Claim, Segmenter
from agent_evo_dagster.segments.tags import tags_of
from agent_evo_dagster.segments.types import SEGMENT_SCHEMA
from agent_evo_dagster.segments.view import TrajectoryView, in_order, read_views
from agent_evo_dagster.segments.waits import is_notification
from agent_evo_dagster.trajectories.types import Outcome, StepKind

_GOAL_LENGTH: Final = 200
_OF_STEPS: Final = ("step_id", "event_ids", "started_at", "ended_at", "kind", "outcome")
_OF_FIRST: Final = ("trajectory_id", "session_id", "layer", "agent_id")


def build_segments(steps: pl.DataFrame, *, chain: Sequence[str | Segmenter] = DEFAULT_CHAIN) -> pl.DataFrame:
    """The segments of every trajectory in `steps`, as SEGMENT_SCHEMA.

    `chain` names segmenters, shipped ones or import paths, or gives them; each claims what is left by those
    before it.

    Raises:
        SegmentError: a segmenter cannot be loaded or claims what is not its to claim, or steps are left.
    """
    strategies = segmenters(chain)
    ordered = in_order(steps)
    made = [one for view in read_views(ordered) for one in _segments(view, strategies)]
    return _frame(ordered, made)


class _Segment(NamedTuple):
    """What is told of a segment beside what its steps tell."""

    rows: Sequence[int]  # of its steps
    segment_id: str
    kind: str
    skill: str | None
    anchor: str | None
    parent_segment_id: str | None
    segmenter: str
    goal: str | None
    tags: list[str]


def _segments(view: TrajectoryView, strategies: Sequence[Segmenter]) -> Iterator[_Segment]:
    """The segments of one trajectory, in the order of their beginnings."""
    unclaimed = list(range(len(view)))
    made: list[tuple[Claim, str, str | None]] = []  # with the segmenter's name and the parent's id
    for strategy in strategies:
        claims = strategy.claim(view, tuple(unclaimed)) if unclaimed else []
        unclaimed = _rest(view, strategy.name, unclaimed, claims)
        made.extend((claim, strategy.name, _parent_id(view, claims, claim)) for claim in claims)
    if unclaimed:
        raise SegmentError(
            f"The chain of segmenters left {len(unclaimed)} steps of the trajectory {view.trajectory_id} "
            f"without a segment, first {view.step_id[unclaimed[0]]}. End the chain with 'free'."
        )
    made.sort(key=lambda item: item[0].steps[0])
    prompts = _prompts(view)
    for claim, name, parent in made:
        goal = _goal(view, claim, prompts[claim.steps[0]])
        yield _Segment(
            [view.place + step for step in claim.steps],
            _id(view, claim),
            claim.kind.value,
            claim.skill,
            claim.anchor,
            parent,
            name,
            None if goal is None else goal[:_GOAL_LENGTH],
            tags_of(view, claim.steps),
        )


def _rest(view: TrajectoryView, name: str, unclaimed: Sequence[int], claims: Sequence[Claim]) -> list[int]:
    """What a segmenter left, after a check of what it took."""
    left = dict.fromkeys(unclaimed)
    for claim in claims:
        for position in claim.steps or (None,):
            if position not in left:
                raise SegmentError(
                    f"The segmenter {name!r} claimed the position {position} of the trajectory "
                    f"{view.trajectory_id}, which was not open to it. A claim holds one or more of the "
                    "positions that the segmenter was given, each once."
                )
            del left[position]
    return list(left)


def _parent_id(view: TrajectoryView, claims: Sequence[Claim], claim: Claim) -> str | None:
    return None if claim.parent is None else _id(view, claims[claim.parent])


def _id(view: TrajectoryView, claim: Claim) -> str:
    return segment_id(view.trajectory_id, view.step_id[claim.steps[0]])


def _prompts(view: TrajectoryView) -> list[str | None]:
    """For each step, the text of the user's last prompt."""
    last, texts = None, []
    for kind, text in zip(view.kind, view.text, strict=True):
        if kind == StepKind.PROMPT and not is_notification(text):
            last = text
        texts.append(last)
    return texts


def _frame(steps: pl.DataFrame, made: Sequence[_Segment]) -> pl.DataFrame:
    """The segments as SEGMENT_SCHEMA."""
    told = [
        pl.Series(name, [getattr(one, name) for one in made], dtype=SEGMENT_SCHEMA[name])
        for name in _Segment._fields[1:]
    ]
    numbers = [number for number, one in enumerate(made) for _ in one.rows]
    rows = pl.Series([row for one in made for row in one.rows], dtype=pl.UInt32)
    return (
        steps.select(*_OF_FIRST, *_OF_STEPS)[rows]
        .lazy()
        .group_by(pl.Series("segment", numbers, dtype=pl.Int64), maintain_order=True)
        .agg(
            pl.first(*_OF_FIRST),
            pl.min("started_at"),
            pl.col("ended_at").fill_null(pl.col("started_at")).max(),
            pl.col("step_id").alias("step_ids"),
            pl.col("event_ids").explode().drop_nulls(),
            calls=(pl.col("kind") == StepKind.TOOL_CALL).sum(),
            failures=(pl.col("outcome") == Outcome.FAILURE).sum(),
        )
        .with_columns(told)
        .select(pl.col(name).cast(kind) for name, kind in SEGMENT_SCHEMA.items())
        .collect()
    )


def _goal(view: TrajectoryView, claim: Claim, prompt: str | None) -> str | None:
    """The prompt that a segment serves: its own, else the last before it, else a skill's request."""
    for step in claim.steps:
        if view.is_call(step):
            break
        if view.kind[step] == StepKind.PROMPT:
            return view.text[step]
    if prompt is None and claim.anchor == "tool":
        request = view.input_of(claim.steps[0]).get("args")
        return request if isinstance(request, str) else None
    return prompt
