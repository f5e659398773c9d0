"""The assets of capture: the spool, the events that a round took from it, and the lines that are none."""

import dagster as dg
import polars as pl

from agent_evo_dagster.capture.read import ReadResult
from agent_evo_dagster.capture.types import EVENT_SCHEMA, QUARANTINE_SCHEMA
from assets.observed import Observations, observed
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Results, check, counts, numbers, table
from assets.schema import schema_problems
from assets.subset import asked
from resources.rounds import RoundsResource
from resources.spool import SpoolResource

GROUP = "sessions"


@observed(
    dg.AssetSpec(
        "hook_event_files",
        group_name=GROUP,
        kinds={"json"},
        description="The spool: hook records that Claude Code sessions wrote. Rounds take slices of it.",
    )
)
def hook_event_files(spool: SpoolResource) -> Observations:
    """Observe the spool; its version changes when a file grows."""
    files = spool.files()
    yield dg.ObserveResult(
        data_version=dg.DataVersion(spool.version(files)),
        metadata=numbers({"files": len(files), "bytes": sum(files.values())}),
    )


@dg.multi_asset(
    name="read_spool",
    outs={
        "hook_events": dg.AssetOut(
            is_required=False,
            description="What happened in the sessions of this round, redacted; one row per event.",
            group_name=GROUP,
            owners=[OWNER],
            kinds={"polars", "parquet"},
        ),
        "quarantined_lines": dg.AssetOut(
            is_required=False,
            description="Lines of the round's slice that are no events, with the reason. Nothing is dropped.",
            group_name=GROUP,
            owners=[OWNER],
            kinds={"polars", "parquet"},
        ),
    },
    can_subset=True,
    deps=[hook_event_files],
    partitions_def=EVOLUTION_ROUNDS,
    check_specs=[
        dg.AssetCheckSpec(
            "event_schema", asset="hook_events", blocking=True, description="Columns, types, ids."
        ),
        dg.AssetCheckSpec(
            "quarantine_share", asset="hook_events", description="Less than 5 % of lines broken."
        ),
    ],
)
def read_spool(context: dg.AssetExecutionContext, rounds: RoundsResource, spool: SpoolResource) -> Results:
    """Read the slice that the round's manifest froze."""
    result = spool.read(rounds.manifest(context))
    yield from asked(context, [_events(result), _quarantine(result.quarantine)])


def _events(result: ReadResult) -> dg.MaterializeResult[pl.DataFrame]:
    events, broken = result.events, result.quarantine.height
    share = broken / max(1, result.lines)
    return dg.MaterializeResult(
        asset_key=dg.AssetKey("hook_events"),
        value=events,
        metadata={
            **numbers({"events": events.height, "lines": result.lines, "quarantined": broken}),
            **numbers({"sessions": events["session_id"].n_unique()}),
            "kinds": counts(events, "kind"),
            "layers": counts(events, "layer"),
        },
        check_results=[
            check("event_schema", schema_problems(events, EVENT_SCHEMA, unique="event_id")),
            check("quarantine_share", [f"{share:.1%} of lines"] if share > 0.05 else [], warn=True),
        ],
    )


def _quarantine(broken: pl.DataFrame) -> dg.MaterializeResult[pl.DataFrame]:
    return dg.MaterializeResult(
        asset_key=dg.AssetKey("quarantined_lines"),
        value=broken,
        metadata={
            **numbers({"lines": broken.height}),
            "broken_lines": table(broken, list(QUARANTINE_SCHEMA), limit=20),
        },
    )
