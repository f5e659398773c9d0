"""Trajectories as ATIF v1.7 documents, one a session, subagents embedded. Not how such documents are read."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl

from agent_evo_dagster.capture.atif import VERSION, Trajectory, validate
from agent_evo_dagster.capture.usage import usage_by_step
from agent_evo_dagster.trajectories.values import parsed

_SOURCES = {"prompt": "user", "message": "agent", "tool_call": "agent", "lifecycle": "system"}

Json = dict[str, object]
Row = Mapping[str, object]


def to_atif(steps: pl.DataFrame, usage: pl.DataFrame, *, agent: str, version: str) -> list[Trajectory]:
    """The sessions in `steps` (STEP_SCHEMA) with the tokens in `usage` (USAGE_SCHEMA), in order of their ids.

    What ATIF has no field for (outcome and its reason, ids of steps and events) is in `extra`.

    Args:
        steps: All steps of the sessions.
        usage: May be empty.
        agent: Name of the agent system.
        version: Its version, or "unknown".
    """
    tokens: dict[str, list[Row]] = defaultdict(list)
    for row in usage_by_step(usage, steps).iter_rows(named=True):
        tokens[row["step_id"]].append(row)
    sessions: dict[str, dict[str | None, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in steps.sort("session_id", "agent_id", "index", nulls_last=False).iter_rows(named=True):
        sessions[row["session_id"]][row["agent_id"]].append(row)
    head: Json = {"schema_version": VERSION, "agent": {"name": agent, "version": version}}
    return [validate(_session(name, agents, tokens, head)) for name, agents in sorted(sessions.items())]


def _session(
    name: str, agents: Mapping[str | None, Sequence[Row]], tokens: Mapping[str, Sequence[Row]], head: Json
) -> Json:
    """The main agent's trajectory; the others' are embedded in it, whoever called them."""
    callers = {  # event of a call -> the subagent that it started
        event: agent
        for agent, rows in agents.items()
        if agent is not None
        for event in _list(rows[0]["evidence_ids"])
    }
    made = {agent: _trajectory(name, rows, tokens, head, callers) for agent, rows in agents.items()}
    root = made.pop(None, None)
    if root is None:  # no step of the main agent was captured
        step: Json = {"step_id": 1, "source": "system", "message": "", "extra": {"kind": "absent"}}
        root = {**head, "session_id": name, "trajectory_id": name, "steps": [step]}
    children = list(made.values())
    return {**root, "subagent_trajectories": children} if children else root


def _trajectory(
    session: str,
    rows: Sequence[Row],
    tokens: Mapping[str, Sequence[Row]],
    head: Json,
    callers: Mapping[str, str],
) -> Json:
    steps = [
        _step(place, row, tokens.get(str(row["step_id"]), ()), callers if row["agent_id"] is None else {})
        for place, row in enumerate(rows, 1)
    ]
    told = [step["metrics"] for step in steps if isinstance(step.get("metrics"), dict)]
    final: Json = {"total_steps": len(steps)}
    for name in ("prompt_tokens", "completion_tokens", "cached_tokens") if told else ():
        final[f"total_{name}"] = sum(int(metrics[name]) for metrics in told if isinstance(metrics, dict))
    agent = rows[0]["agent_id"]
    identity = {"session_id": session, "trajectory_id": agent or rows[0]["trajectory_id"]}
    extra = {"agent_type": rows[0]["agent_type"], "parent_agent_id": rows[0]["parent_agent_id"]}
    return {
        **head,
        **identity,
        "steps": steps,
        "final_metrics": final,
        **({"extra": extra} if agent is not None else {}),
    }


def _step(place: int, row: Row, tokens: Sequence[Row], callers: Mapping[str, str]) -> Json:
    kind, started = str(row["kind"]), row["started_at"]
    told = ("step_id", "kind", "mark", "prompt_id", "event_ids")
    step: Json = {"step_id": place, "source": _SOURCES[kind], "message": row["text"] or ""}
    if isinstance(started, datetime):
        step["timestamp"] = started.isoformat()
    if kind == "tool_call":
        step |= _call(row, callers)
    if tokens and step["source"] == "agent":
        step |= {"metrics": _metrics(tokens), "llm_call_count": len(tokens)}
        if isinstance(tokens[0]["model"], str):
            step["model_name"] = tokens[0]["model"]
    return {**step, "extra": {name: row[name] for name in told}}


def _call(row: Row, callers: Mapping[str, str]) -> Json:
    """A call with its result, which may be a subagent's."""
    call_id = str(row["tool_use_id"] or row["step_id"])
    arguments = parsed(_text(row["tool_input"]))
    call: Json = {
        "tool_call_id": call_id,
        "function_name": row["tool_name"] or "",
        "arguments": arguments if isinstance(arguments, dict) else {"value": arguments},
        "extra": {name: row[name] for name in ("outcome", "outcome_reason", "duration_ms")},
    }
    result: Json = {"source_call_id": call_id, "content": row["error"] or row["tool_response"]}
    agents = dict.fromkeys(callers[event] for event in _list(row["event_ids"]) if event in callers)
    if agents:
        result["subagent_trajectory_ref"] = [{"trajectory_id": agent} for agent in agents]
    ended = row["ended_at"] is not None
    return {"tool_calls": [call], **({"observation": {"results": [result]}} if ended or agents else {})}


def _metrics(rows: Sequence[Row]) -> Json:
    """Tokens as ATIF counts them: those of the prompt include the cached ones."""

    def total(*names: str) -> int:
        return sum(value for row in rows for name in names if isinstance(value := row[name], int))

    written = total("cache_creation_tokens")
    return {
        "prompt_tokens": total("input_tokens", "cache_creation_tokens", "cache_read_tokens"),
        "completion_tokens": total("output_tokens"),
        "cached_tokens": total("cache_read_tokens"),
        "extra": {"cache_creation_input_tokens": written},
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _list(value: object) -> list[str]:
    return value if isinstance(value, list) else []
