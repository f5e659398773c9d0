"""Small frames in the schemas of the lower rooms, for the tests of analysis."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import polars as pl

from agent_evo_dagster.capture.types import COVERAGE_COUNTS, COVERAGE_SCHEMA
from agent_evo_dagster.patches.life import LIFE_SCHEMA
from agent_evo_dagster.patches.types import PATCH_DECISION_SCHEMA, PATCH_EVALUATION_SCHEMA, PATCH_SCHEMA
from agent_evo_dagster.segments.types import SEGMENT_SCHEMA
from agent_evo_dagster.training.types import EVALUATION_SCHEMA, METRIC_SCHEMA, ROLLOUT_SCHEMA
from agent_evo_dagster.trajectories.types import STEP_SCHEMA

DIFF = """--- a
+++ b
@@ -1,1 +1,1 @@
-learning_rate: {default: 2.0e-5}
+learning_rate: {default: 1.0e-4}
"""
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def call(
    tool: str,
    tool_input: object,
    outcome: str = "success",
    *,
    error: str | None = None,
    response: object = None,
    session: str = "s1",
) -> dict[str, object]:
    """A tool call as a step's fields, without its place."""
    return {
        "session_id": session,
        "trajectory_id": f"t-{session}",
        "tool_name": tool,
        "tool_input": json.dumps(tool_input),
        "tool_response": None if response is None else json.dumps(response),
        "error": error,
        "outcome": outcome,
        "outcome_reason": "test",
    }


def step_frame(calls: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Steps in the order given, one event each."""
    rows = [
        {
            "kind": "tool_call",
            "layer": "rllm",
            "mark": "PreToolUse",
            "step_id": f"st-{index}",
            "index": index,
            "event_ids": [f"e-{index}"],
            "evidence_ids": [],
            "started_at": START + timedelta(seconds=index),
            "ended_at": START + timedelta(seconds=index + 1),
            "duration_ms": 1000.0,
            **fields,
        }
        for index, fields in enumerate(calls)
    ]
    return pl.DataFrame(rows, schema=STEP_SCHEMA)


def segment_frame(steps: pl.DataFrame, skill: str | None = "rllm-run") -> pl.DataFrame:
    """One segment for each trajectory of `steps`."""
    rows = [
        {
            "segment_id": f"g-{trajectory[0]}",
            "trajectory_id": trajectory[0],
            "session_id": group["session_id"][0],
            "layer": "rllm",
            "kind": "free" if skill is None else "skill",
            "skill": skill,
            "step_ids": group["step_id"].to_list(),
            "event_ids": group["event_ids"].explode().to_list(),
            "calls": group.height,
            "failures": int((group["outcome"] == "failure").sum()),
            "tags": [],
        }
        for trajectory, group in steps.group_by("trajectory_id", maintain_order=True)
    ]
    return pl.DataFrame(rows, schema=SEGMENT_SCHEMA)


def metric_frame(series: Mapping[str, Sequence[float | None]]) -> pl.DataFrame:
    """Metrics by name, from step 1 on; None stands for a value that was not finite."""
    rows = [
        {"step": step, "name": name, "value": value, "finite": value is not None}
        for name, values in series.items()
        for step, value in enumerate(values, start=1)
    ]
    return pl.DataFrame(rows, schema=METRIC_SCHEMA)


def rollout_frame(rewards: Sequence[Sequence[float]], finish: str = "stop", length: int = 20) -> pl.DataFrame:
    """Rollouts of groups of one step each; all of one length."""
    rows = [
        {
            "step": 1,
            "group": group,
            "task_id": f"task-{group}",
            "prompt": "1+1",
            "answer": "2",
            "prompt_ids": [1],
            "completion_ids": [1] * length,
            "logprobs": [-0.1] * length,
            "response_mask": [1] * length,
            "text": "2",
            "reward": reward,
            "correct": reward > 0.5,
            "finish": finish,
            "turns": 1,
            "tool_calls": 0,
            "tool_errors": 0,
            "policy_version": 0,
        }
        for group, group_rewards in enumerate(rewards)
        for reward in group_rewards
    ]
    return pl.DataFrame(rows, schema=ROLLOUT_SCHEMA)


def evaluation_frame(correct: Mapping[str, Sequence[bool]], mode: str = "sampled") -> pl.DataFrame:
    """One sample of each task, by policy."""
    rows = [
        {
            "policy": policy,
            "seed": 0,
            "mode": mode,
            "task_id": f"held-{task}",
            "sample": 0,
            "reward": float(right),
            "correct": right,
            "finish": "stop",
            "turns": 2,
            "tokens": 30,
        }
        for policy, answers in correct.items()
        for task, right in enumerate(answers)
    ]
    return pl.DataFrame(rows, schema=EVALUATION_SCHEMA)


def patch_frames(
    decision: str = "approve", *, description: str = "Raise the learning rate fivefold."
) -> dict[str, pl.DataFrame]:
    """One patch of a setting, judged and decided, as the report's inputs name the frames."""
    patch_id = "p-0123456789abcdef"
    waits = decision == "wait"
    patch = {
        "patch_id": patch_id,
        "group": "rllm",
        "skill": "rllm-config",
        "section": "optimisation",
        "action": "replace",
        "description": description,
        "base_hash": "0" * 64,
        "findings": ["f-00000000deadbeef"],
        "settings": '{"learning_rate": [2e-05, 0.0001]}',
        "diff": DIFF,
        "document": "",
    }
    judged = {
        "patch_id": patch_id,
        "judge": "probe",
        "verdict": "accept",
        "reason": "better beyond the interval, no task worse beyond noise",
        "n": 60,
        "baseline": 0.25,
        "candidate": 0.41,
        "difference": 0.16,
        "low": 0.09,
        "high": 0.23,
        "regressions": [],
        "evidence": "{}",
    }
    decided = {
        "patch_id": patch_id,
        "diff_hash": "1" * 64,
        "decision": decision,
        "gate_verdict": "accept",
        "by": None if waits else "policy:auto",
        "reason": "policy is manual" if waits else "the gate accepted a patch of settings",
        "decided_at": None if waits else START,
        "record_hash": None if waits else "2" * 64,
    }
    return {
        "patches": pl.DataFrame([patch], schema=PATCH_SCHEMA).with_columns(result_hash=pl.lit("9" * 64)),
        "patch_evaluation": pl.DataFrame([judged], schema=PATCH_EVALUATION_SCHEMA),
        "patch_decisions": pl.DataFrame([decided], schema=PATCH_DECISION_SCHEMA),
    }


def life_frame(
    *events: str, patch_id: str = "p-0123456789abcdef", round_key: str | None = None
) -> pl.DataFrame:
    """What became of a patch, an hour apart, beginning with the time of its decision."""
    by = {"adopt": None, "replay": None, "take_out": "policy:regression"}
    rows = [
        {
            "patch_id": "p-0123456789abcdef",
            "at": START + timedelta(hours=hour),
            "event": event,
            "by": by.get(event, "Ada"),
            "reason": None if event == "adopt" else f"the reason of {event}",
            "round": round_key if event in {"take_out", "replay"} else None,
        }
        for hour, event in enumerate(events)
    ]
    return pl.DataFrame(rows, schema=LIFE_SCHEMA, orient="row")


def coverage_frame(*sessions: tuple[bool, int, int, int, int]) -> pl.DataFrame:
    """Capture coverage: transcript, calls in both, only hooks, only transcript, ends added."""
    names = ("transcript", "calls_both", "calls_hook_only", "calls_transcript_only", "ends_added")
    zeros = dict.fromkeys(COVERAGE_COUNTS, 0) | {"corrects": False}
    rows = [
        {"session_id": f"s-{n}", **zeros, **dict(zip(names, told, strict=True))}
        for n, told in enumerate(sessions)
    ]
    return pl.DataFrame(rows, schema=COVERAGE_SCHEMA)
