"""The assets of capture: the spool, what a round took from it, and how far its sources agree."""

import dagster as dg
import polars as pl

from agent_evo_dagster.capture.gather import Gathered
from agent_evo_dagster.capture.types import (
    COVERAGE_COUNTS,
    COVERAGE_SCHEMA,
    EVENT_SCHEMA,
    QUARANTINE_SCHEMA,
    USAGE_SCHEMA,
)
from agent_evo_dagster.capture.usage import TOKENS, usage_by
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


def _out(description: str) -> dg.AssetOut:
    return dg.AssetOut(
        is_required=False,
        description=description,
        group_name=GROUP,
        owners=[OWNER],
        kinds={"polars", "parquet"},
    )


@dg.multi_asset(
    name="read_spool",
    outs={
        "hook_events": _out("What happened in the sessions of this round, redacted; one row per event."),
        "quarantined_lines": _out(
            "Lines of the round's slice that are no events, with the reason. Nothing is dropped."
        ),
        "capture_coverage": _out(
            "Calls that hooks and transcripts tell of: both, only one; one row per session."
        ),
        "token_usage": _out(
            "Tokens that the model took, from transcripts; one row per message, counted once."
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
        dg.AssetCheckSpec(
            "calls_captured", asset="capture_coverage", description="Hooks missed less than 5 % of calls."
        ),
        dg.AssetCheckSpec("usage_schema", asset="token_usage", blocking=True),
        dg.AssetCheckSpec(
            "usage_within_client_count",
            asset="token_usage",
            description="Messages took no more than the client counted: each is counted once.",
        ),
    ],
)
def read_spool(context: dg.AssetExecutionContext, rounds: RoundsResource, spool: SpoolResource) -> Results:
    """Read the slice that the round's manifest froze."""
    result = spool.read(rounds.manifest(context))
    made = [_events(result), _quarantine(result.quarantine), _coverage(result.coverage)]
    yield from asked(context, [*made, _usage(spool.priced(result.usage), result.totals)])


def _events(result: Gathered) -> dg.MaterializeResult[pl.DataFrame]:
    events, broken = result.events, result.quarantine.height
    share = broken / max(1, result.lines)
    return dg.MaterializeResult(
        asset_key=dg.AssetKey("hook_events"),
        value=events,
        metadata={
            **numbers({"events": events.height, "lines": result.lines, "quarantined": broken}),
            **numbers(
                {"sessions": events["session_id"].n_unique(), "passed_lines": sum(result.passed.values())}
            ),
            "lines_that_are_no_events": dg.MetadataValue.json(dict(result.passed)),
            "sources": counts(events, "source"),
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


def _coverage(coverage: pl.DataFrame) -> dg.MaterializeResult[pl.DataFrame]:
    told = coverage.filter("transcript")
    missed = sum(told["calls_transcript_only"])
    known = missed + sum(told["calls_both"]) + sum(told["calls_hook_only"])
    problem = f"hooks missed {missed} of {known} calls in {told.height} sessions: agent-evo hooks status"
    problems = schema_problems(coverage, COVERAGE_SCHEMA, unique="session_id")
    return dg.MaterializeResult(
        asset_key=dg.AssetKey("capture_coverage"),
        value=coverage,
        metadata={
            **numbers({"sessions": coverage.height, "sessions_with_transcript": told.height}),
            **numbers({name: coverage[name].sum() for name in COVERAGE_COUNTS}),
            "sessions_table": table(coverage, list(COVERAGE_SCHEMA)),
        },
        check_results=[
            check("calls_captured", problems + ([problem] if missed > 0.05 * known else []), warn=True)
        ],
    )


def _usage(usage: pl.DataFrame, totals: pl.DataFrame) -> dg.MaterializeResult[pl.DataFrame]:
    by_skill = usage_by(usage, "skill", "model")
    costs = totals["cost_usd"]
    over = totals.filter(pl.col("message_tokens") > pl.col("client_tokens"))
    told = f"messages of {over.height} sessions took more tokens than the client counted in all"
    return dg.MaterializeResult(
        asset_key=dg.AssetKey("token_usage"),
        value=usage,
        metadata={
            **numbers({"messages": usage.height, **{name: usage[name].sum() for name in TOKENS}}),
            **numbers({"cost_usd": usage["cost_usd"].sum()} if usage["cost_usd"].is_not_null().any() else {}),
            **numbers({"client_tokens": totals["client_tokens"].sum()}),
            **numbers({"client_cost_usd": costs.sum()} if costs.is_not_null().any() else {}),
            "by_skill": table(by_skill, by_skill.columns),
            "by_client": table(totals, totals.columns),
        },
        check_results=[
            check("usage_schema", schema_problems(usage, USAGE_SCHEMA)),
            check("usage_within_client_count", [told] if over.height else [], warn=True),
        ],
    )
