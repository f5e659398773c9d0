"""What the client itself counted of a session's tokens and cost, beside what its messages took. No prices.

A transcript repeats the client's count (`cost-state`) now and then: each is the sum since the session began,
with subagents, and with what no line of a transcript tells, such as summaries and titles. It names no message
and no agent, so that it tells nothing of a step or a skill.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from agent_evo_dagster.capture.fields import number_of

# One row per session that the client counted. Sums of tokens of all kinds; a message's id counts once.
TOTAL_SCHEMA = pl.Schema(
    {
        "session_id": pl.String,
        "client_tokens": pl.Int64,
        "message_tokens": pl.Int64,
        "cost_usd": pl.Float64,  # by the client; null where it does not know a model's price
    }
)
_COUNTED = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
_MOST = 2**53


@dataclass(slots=True)
class ClientTotals:
    """The last count of each run of the client, by session."""

    latest: dict[tuple[str, str], tuple[int, float | None]] = field(default_factory=dict)

    def take(self, record: Mapping[str, object], stem: str) -> None:
        """Note the count that a line carries; most carry none."""
        if record.get("type") != "cost-state":
            return
        session, models = record.get("sessionId"), record.get("modelUsage")
        told = models.values() if isinstance(models, dict) else ()
        tokens = sum(
            _count(model.get(name)) for model in told if isinstance(model, dict) for name in _COUNTED
        )
        known = record.get("hasUnknownModelCost") is not True
        cost = number_of(record.get("totalCostUSD")) if known else None
        # one that is resumed goes on counting from its first start
        name = session if isinstance(session, str) else stem
        self.latest[name, str(record.get("startTime"))] = tokens, cost

    def frame(self, usage: pl.DataFrame) -> pl.DataFrame:
        """The counts (TOTAL_SCHEMA) beside those of the messages in `usage` (USAGE_SCHEMA)."""
        rows = [(session, tokens, cost) for (session, _), (tokens, cost) in self.latest.items()]
        columns = {name: TOTAL_SCHEMA[name] for name in ("session_id", "client_tokens", "cost_usd")}
        counted = (
            pl.DataFrame(rows, schema=columns, orient="row")
            .group_by("session_id")
            .agg(
                pl.col("client_tokens").sum(),
                pl.when(pl.col("cost_usd").is_not_null().all()).then(pl.col("cost_usd").sum()),
            )
        )
        tokens = pl.sum_horizontal(pl.col("^.*_tokens$"))
        messages = usage.group_by("session_id").agg(message_tokens=tokens.sum())
        joined = counted.join(messages, on="session_id", how="left").with_columns(
            pl.col("message_tokens").fill_null(0)
        )
        return joined.select(TOTAL_SCHEMA.names()).cast(TOTAL_SCHEMA).sort("session_id")


def beyond(whole: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """What `whole` counts more than `before` (both TOTAL_SCHEMA), of the sessions where that is anything."""
    numbers = [name for name in TOTAL_SCHEMA if name != "session_id"]
    rest = whole.join(before, on="session_id", how="left", suffix="_before").with_columns(
        pl.col(name) - pl.col(f"{name}_before").fill_null(0) for name in numbers
    )
    return rest.select(TOTAL_SCHEMA.names()).filter(
        (pl.col("client_tokens") != 0) | (pl.col("message_tokens") != 0)
    )


def _count(value: object) -> int:
    """A number of tokens; what is none counts as 0."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
    return value if is_count and isinstance(value, int) else 0
