"""The asset of trajectories: each agent's steps in order, with the outcome of each call."""

import dagster as dg
import polars as pl

from agent_evo_dagster.rounds.status import finished_sessions
from agent_evo_dagster.trajectories.build import build_trajectories
from agent_evo_dagster.trajectories.types import STEP_SCHEMA
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Results, check, counts, numbers
from assets.schema import schema_problems
from resources.rounds import RoundsResource


@dg.asset(
    group_name="sessions",
    owners=[OWNER],
    kinds={"polars", "parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    description="One agent's ordered steps in one session; one row per step. Calls carry outcome and reason.",
    check_specs=[dg.AssetCheckSpec("step_schema", asset="trajectories", blocking=True)],
)
def trajectories(
    context: dg.AssetExecutionContext, rounds: RoundsResource, hook_events: pl.DataFrame
) -> Results:
    """Order the events of the round; a session that it took is over, unless it takes open ones."""
    over = finished_sessions(rounds.manifest(context))
    steps = build_trajectories(hook_events, over=over)
    calls = steps.filter(pl.col("kind") == "tool_call")
    yield dg.MaterializeResult(
        value=steps,
        metadata={
            **numbers({"trajectories": steps["trajectory_id"].n_unique(), "steps": steps.height}),
            **numbers(
                {"calls": calls.height, "failures": calls.filter(pl.col("outcome") == "failure").height}
            ),
            "outcomes": counts(calls, "outcome"),
            "tools": counts(calls, "tool_name"),
            "reasons": counts(calls, "outcome_reason"),
        },
        check_results=[check("step_schema", schema_problems(steps, STEP_SCHEMA, unique="step_id"))],
    )
