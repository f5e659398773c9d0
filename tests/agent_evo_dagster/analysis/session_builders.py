"""Sessions with a skill each, for the tests of detectors."""

import polars as pl

from agent_evo_dagster.analysis.sessions import find_in_sessions
from tests.agent_evo_dagster.analysis.builders import call, segment_frame, step_frame

SKILLS = {
    (
        "rllm-run",
        "start",
    ): "## Start\n\n```sh\n$ agent-evo doctor   # what is missing\nagent-evo rounds run\n```\n",
    ("rllm-run", "failures"): "## When it fails\n\n- The same error twice: stop, do not retry.\n",
    ("rllm-train", "steps"): "1. `rllm-clarify`: only if unclear.\n2. `rllm-run`: start the round.\n",
    ("rllm-clarify", "questions"): "Ask three.\n",
}


def bash(command, outcome="success", error=None, **fields):
    """A command; one that failed has an exit code."""
    told = error or ("Exit code 1\nValueError: no" if outcome == "failure" else None)
    return call("Bash", {"command": command}, outcome, error=told, **fields)


def find(calls, *detectors, skill="rllm-run", skills=None, usage=None):
    """The findings of some detectors, or of all, over sessions that follow one skill."""
    steps = step_frame(calls)
    return find_in_sessions(
        steps, segment_frame(steps, skill), skills=skills, usage=usage, detectors=detectors or None
    )


def usage_frame(rows):
    """Tokens by step: (step, read, written, cost)."""
    columns = ("step_id", "input_tokens", "output_tokens", "cost_usd")
    frame = pl.DataFrame(
        rows,
        schema=dict(zip(columns, (pl.String, pl.Int64, pl.Int64, pl.Float64), strict=True)),
        orient="row",
    )
    return frame.with_columns(cache_creation_tokens=pl.lit(0), cache_read_tokens=pl.lit(0))
