"""A warehouse with two rounds."""

from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.trajectories.build import build_trajectories
from agent_evo_dagster.warehouse import Warehouse
from tests.agent_evo_dagster.trajectories.event_frames import bash, call, hook, hooks, prompt, skill


def session(name: str, *records: dict[str, object]) -> pl.DataFrame:
    start, end = hook("SessionStart"), hook("SessionEnd")
    return hooks(*({**record, "session_id": name} for record in (start, *records, end)))


ROUNDS = {
    "round-0001": session(
        "s1",
        prompt("go", "p1"),
        *skill("rllm-run"),
        *bash("make"),
        hook("PreToolUse", tool_name="Bash", tool_input={"command": "x"}, tool_use_id="f1"),
        hook("PostToolUseFailure", tool_name="Bash", tool_use_id="f1", error="Exit code 1"),
    ),
    "round-0010": session("s2", prompt("\x1b[31mred", "p2"), *call("Read", {}, {"type": "text"}, "r1")),
}


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    # a name that DuckDB would take as a pattern, with quotes
    store = Warehouse(tmp_path / "a [b]* c'd")
    for key, events in ROUNDS.items():
        steps = build_trajectories(events)
        store.write(("hook_events",), key, events)
        store.write(("trajectories",), key, steps)
        store.write(("segments",), key, build_segments(steps))
    return store.root
