"""The asset of segments: skill and free stretches of the round's trajectories."""

import dagster as dg
import polars as pl

from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.segments.conservation import violations
from agent_evo_dagster.segments.types import SEGMENT_SCHEMA
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Results, check, counts, numbers
from assets.schema import schema_problems


@dg.asset(
    group_name="sessions",
    owners=[OWNER],
    kinds={"polars", "parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    description="Stretches with one purpose: a skill from its call to its end, or a goal without a skill.",
    check_specs=[
        dg.AssetCheckSpec("segment_schema", asset="segments", blocking=True),
        dg.AssetCheckSpec(
            "conservation", asset="segments", blocking=True, description="Each event in exactly one."
        ),
    ],
)
def segments(hook_events: pl.DataFrame, trajectories: pl.DataFrame) -> Results:
    """Group the steps of the round."""
    found = build_segments(trajectories)
    yield dg.MaterializeResult(
        value=found,
        metadata={
            **numbers({"segments": found.height, "skills": found["skill"].n_unique()}),
            "kinds": counts(found, "kind"),
            "by_skill": counts(found.filter(pl.col("kind") == "skill"), "skill"),
        },
        check_results=[
            check("segment_schema", schema_problems(found, SEGMENT_SCHEMA, unique="segment_id")),
            check("conservation", violations(hook_events, found)),
        ],
    )
