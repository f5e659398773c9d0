"""Tokens that the model's messages took, a message once, and what they cost. Prices are given, not known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agent_evo_dagster.capture.fields import FieldError, at_of, text_of
from agent_evo_dagster.capture.types import USAGE_SCHEMA
from agent_evo_dagster.errors import CaptureError

TOKENS = ("input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens")
_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_NO_MODEL = "<synthetic>"  # the client's own words, such as an error of the service
_MOST = 2**53

Fields = Mapping[str, object]
_PRICED = dict(zip(("input", "cache_creation", "cache_read", "output"), TOKENS, strict=True))

By = Literal["session_id", "agent_id", "skill", "model"]


@dataclass(slots=True)
class UsageBook:
    """Usage by message: a message's lines repeat it, and the last is the whole."""

    rows: dict[tuple[str, str], dict[str, object]] = field(default_factory=dict)

    def take(self, record: Fields, stem: str) -> None:
        """Note the usage that a line carries; most carry none."""
        message = record.get("message")
        if record.get("type") != "assistant" or not isinstance(message, dict):
            return
        usage, message_id = message.get("usage"), message.get("id")
        if (
            not isinstance(usage, dict)
            or not isinstance(message_id, str)
            or message.get("model") == _NO_MODEL
        ):
            return
        try:
            at = at_of(record.get("timestamp"))
        except FieldError:
            return
        session = record.get("sessionId")
        session = session if isinstance(session, str) else stem
        known = self.rows.setdefault((session, message_id), {"at": at, "tool_use_ids": []})
        calls = known["tool_use_ids"]
        assert isinstance(calls, list)
        calls.extend(call for call in _calls(message.get("content")) if call not in calls)
        known.update(
            session_id=session,
            agent_id=text_of(record.get("agentId")),
            message_id=message_id,
            model=text_of(message.get("model")),
            skill=text_of(record.get("attributionSkill")) or known.get("skill"),
        )
        known.update({name: _count(usage.get(given)) for name, given in zip(TOKENS, _FIELDS, strict=True)})

    def frame(self) -> pl.DataFrame:
        """The messages as USAGE_SCHEMA."""
        integers = pl.Schema({**USAGE_SCHEMA, "at": pl.Int64()})
        return pl.DataFrame(list(self.rows.values()), schema=integers).cast({"at": USAGE_SCHEMA["at"]})


def usage_by(usage: pl.DataFrame, *columns: By) -> pl.DataFrame:
    """Messages, tokens and cost by `columns`, in their order."""
    cost = pl.when(pl.col("cost_usd").is_not_null().any()).then(pl.col("cost_usd").sum()).alias("cost_usd")
    totals = [pl.len().cast(pl.Int64).alias("messages"), *(pl.col(name).sum() for name in TOKENS), cost]
    return usage.group_by(columns).agg(totals).sort(columns, nulls_last=True)


def usage_by_step(usage: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Tokens of each step: those of a message go to the first call that it made, else to its text, once.

    Args:
        usage: USAGE_SCHEMA.
        steps: Steps with `step_id`, `session_id`, `tool_use_id`, `kind`, `started_at`, `agent_id`.
    """
    calls = usage.with_columns(tool_use_id=pl.col("tool_use_ids").list.first())
    named = calls.filter(pl.col("tool_use_id").is_not_null()).join(
        steps.filter(pl.col("tool_use_id").is_not_null()).unique(
            ["session_id", "tool_use_id"], keep="first", maintain_order=True
        ),
        on=["session_id", "tool_use_id"],
    )
    spoken = calls.filter(pl.col("tool_use_id").is_null()).join(
        steps.filter(pl.col("kind") == "message").unique(
            ["session_id", "agent_id", "started_at"], keep="first", maintain_order=True
        ),
        left_on=["session_id", "agent_id", "at"],
        right_on=["session_id", "agent_id", "started_at"],
        nulls_equal=True,
    )
    columns = ["step_id", "message_id", "model", *TOKENS, "cost_usd"]
    return pl.concat([named.select(columns), spoken.select(columns)]).sort("step_id", "message_id")


class Price(BaseModel):
    """US dollars for a million tokens of one model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cache_creation: float = Field(ge=0, allow_inf_nan=False)
    cache_read: float = Field(ge=0, allow_inf_nan=False)


def read_prices(path: Path) -> dict[str, Price]:
    """A price table: a JSON object of model names and their prices.

    Raises:
        CaptureError: it is not such a table.
    """
    try:
        return TypeAdapter(dict[str, Price]).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise CaptureError(
            f"{path} was given as the table of prices and is none ({error}). It should be JSON: "
            '{"model": {"input": 3.0, "output": 15.0, "cache_creation": 3.75, "cache_read": 0.3}}, '
            "in US dollars for a million tokens."
        ) from error


def with_cost(usage: pl.DataFrame, prices: Mapping[str, Price]) -> pl.DataFrame:
    """The frame with `cost_usd` told; null for a model without a price."""
    rates = {name: {model: getattr(price, name) for model, price in prices.items()} for name in _PRICED}
    cost = [
        pl.col(tokens).cast(pl.Float64)
        * pl.col("model").replace_strict(rates[name], default=None, return_dtype=pl.Float64)
        for name, tokens in _PRICED.items()
    ]
    return usage.with_columns(cost_usd=pl.sum_horizontal(cost, ignore_nulls=False) / 1e6)


def _count(value: object) -> int:
    """A number of tokens; what is none counts as 0."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
    return value if is_count and isinstance(value, int) else 0


def _calls(content: object) -> list[str]:
    blocks = content if isinstance(content, list) else []
    return [
        call
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") == "tool_use"
        and isinstance(call := block.get("id"), str)
    ]
