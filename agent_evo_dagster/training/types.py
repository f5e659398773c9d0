"""The vocabulary of training: jobs, finishes, and rows that cross the process boundary. No logic."""

from enum import StrEnum
from typing import Literal

import polars as pl

Job = Literal["train", "evaluate", "probe"]


class Finish(StrEnum):
    """Why a rollout ended."""

    STOP = "stop"  # the policy finished
    LENGTH = "length"  # cut at the token limit
    TOOL_LIMIT = "tool_limit"  # turns used up
    TIMEOUT = "timeout"
    INFRA_ERROR = "infra_error"


# One row per rollout. All per-token lists have equal length (completion_ids, logprobs, response_mask).
# Typed by hand: the columns mix types and their instances, which no one element type covers by inference.
_ROLLOUT_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "step": pl.Int64,  # optimiser step that it fed
    "group": pl.Int64,  # prompts of one group share it
    "task_id": pl.String,
    "prompt": pl.String,
    "answer": pl.String,
    "prompt_ids": pl.List(pl.Int32),
    "completion_ids": pl.List(pl.Int32),
    "logprobs": pl.List(pl.Float32),  # 0 where response_mask is 0
    "response_mask": pl.List(pl.Int8),  # 1: the policy sampled it, 0: the environment wrote it
    "text": pl.String,  # decoded completion, for people
    "reward": pl.Float64,
    "correct": pl.Boolean,
    "finish": pl.String,  # Finish
    "turns": pl.Int64,
    "tool_calls": pl.Int64,
    "tool_errors": pl.Int64,
    "policy_version": pl.Int64,  # optimiser steps behind the weights that sampled it
}
ROLLOUT_SCHEMA = pl.Schema(_ROLLOUT_COLUMNS)

# One row per optimiser step and metric, names as TRL logs them. Null where TRL gave NaN or infinity, flagged.
METRIC_SCHEMA = pl.Schema({"step": pl.Int64, "name": pl.String, "value": pl.Float64, "finite": pl.Boolean})

# One row per held-out task and sample.
EVALUATION_SCHEMA = pl.Schema(
    {
        "policy": pl.String,  # "before" | "after" the round's training; probes: "baseline" | "candidate"
        "seed": pl.Int64,
        "mode": pl.String,  # "sampled" | "greedy"
        "task_id": pl.String,
        "sample": pl.Int64,
        "reward": pl.Float64,
        "correct": pl.Boolean,
        "finish": pl.String,
        "turns": pl.Int64,
        "tokens": pl.Int64,
    }
)
