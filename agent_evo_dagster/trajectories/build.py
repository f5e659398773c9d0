"""Trajectories from events: joined to steps, judged, and laid out as a frame."""

from collections.abc import Collection

import polars as pl

from agent_evo_dagster.trajectories.assemble import assemble
from agent_evo_dagster.trajectories.background import close_dangling, resolve_background
from agent_evo_dagster.trajectories.columns import read_columns
from agent_evo_dagster.trajectories.judged import judge
from agent_evo_dagster.trajectories.layout import lay_out
from agent_evo_dagster.trajectories.steps import frame_of_steps


def build_trajectories(events: pl.DataFrame, *, over: Collection[str] = ()) -> pl.DataFrame:
    """The steps of every agent of every session in `events`, as STEP_SCHEMA.

    `over` names sessions that are known to be over though no SessionEnd says so (a killed client).

    Raises:
        TrajectoryError: a column of EVENT_SCHEMA is missing.
    """
    columns = read_columns(events)
    joining = assemble(columns)
    steps = judge(columns, joining, frame_of_steps(columns, joining))
    resolve_background(columns, steps)
    close_dangling(columns, steps, over)
    return lay_out(columns, joining, steps)
