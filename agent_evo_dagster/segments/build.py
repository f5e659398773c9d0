"""Segments from steps: the chain of segmenters run over each trajectory, and the frame of their claims."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from agent_evo_dagster.errors import SegmentError
from agent_evo_dagster.segments.ids import segment_id
from agent_evo_dagster.segments.registry import DEFAULT_CHAIN, segmenters
from agent_evo_dagster.segments.strategy import Claim, Segmenter
from agent_evo_dagster.segments.tags import tags_of
from agent_evo_dagster.segments.types import SEGMENT_SCHEMA
from agent_evo_dagster.segments.view import TrajectoryView, read_views
from agent_evo_dagster.segments.waits import is_notification
from agent_evo_dagster.trajectories.types import Outcome, StepKind

_GOAL_LENGTH: Final = 200


def build_segments(steps: pl.DataFrame, *, chain: Sequence[str | Segmenter] = DEFAULT_CHAIN) -> pl.DataFrame:
    """The segments of every trajectory in `steps`, as SEGMENT_SCHEMA.

    `chain` names segmenters, shipped ones or import paths, or gives them; each claims what is left by those
    before it.

    Raises:
        SegmentError: a segmenter cannot be loaded or claims what is not its to claim, or steps are left.
    """
    strategies = segmenters(chain)
    rows = [row for view in read_views(steps) for row in _segments(view, strategies)]
    flat = pl.Schema({**SEGMENT_SCHEMA, "started_at": pl.Int64(), "ended_at": pl.Int64()})
    instants = pl.col("started_at", "ended_at").cast(pl.Datetime("ns", "UTC"))
    return pl.DataFrame(rows, schema=flat, orient="row").with_columns(instants)


def _segments(view: TrajectoryView, strategies: Sequence[Segmenter]) -> Iterator[tuple[Any, ...]]:
    """The rows of one trajectory, in the order of their beginnings."""
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
        yield _row(view, claim, name, parent, prompts[claim.steps[0]])


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


def _row(
    view: TrajectoryView, claim: Claim, segmenter: str, parent: str | None, prompt: str | None
) -> tuple[Any, ...]:
    steps = claim.steps
    goal = _goal(view, claim, prompt)
    ends = [view.ended_at[step] or view.started_at[step] for step in steps]
    return (
        _id(view, claim),
        view.trajectory_id,
        view.session_id,
        view.layer,
        view.agent_id,
        claim.kind.value,
        claim.skill,
        claim.anchor,
        parent,
        segmenter,
        [view.step_id[step] for step in steps],
        [event for step in steps for event in view.event_ids[step]],
        None if goal is None else goal[:_GOAL_LENGTH],
        tags_of(view, steps),
        min(view.started_at[step] for step in steps),
        max(ends),
        sum(view.is_call(step) for step in steps),
        sum(view.outcome[step] == Outcome.FAILURE for step in steps),
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
