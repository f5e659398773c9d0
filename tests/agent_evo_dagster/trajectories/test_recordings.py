"""The recordings of the real client give the trajectories that a reader of them expects.

`expected_recordings.txt` follows the recordings event by event: agent, first event, number of own events (a
`+` for each that is evidence), tool, outcome, reason, and the beginning of the error.
"""

from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import recording

EXPECTED = Path(__file__).with_name("expected_recordings.txt")
NAMES = (
    "main", "skills", "slash", "slashmid", "slashunknown", "mcp", "deny", "compact", "apierror-1", "hangint",
)  # fmt: skip


def summary(steps: pl.DataFrame) -> list[str]:
    """One line a step; agents are numbered in the order in which they come."""
    agents: dict[str | None, str] = {None: "main"}
    lines = []
    for step in steps.iter_rows(named=True):
        agent = agents.setdefault(step["agent_id"], f"sub{len(agents)}")
        count = str(len(step["event_ids"])) + "+" * len(step["evidence_ids"])
        what = [step["tool_name"], step["outcome"], step["outcome_reason"]] if step["tool_name"] else []
        error = [(step["error"] or "").partition("\n")[0][:30].strip()] if step["error"] else []
        lines.append(" ".join([agent, step["mark"], count, *what, *error]))
    return lines


def read_expected(path: Path) -> dict[str, list[str]]:
    """The lines of each recording, by its name."""
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            current = found.setdefault(line[2:], [])
        elif line:
            current.append(line)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_gives_the_expected_steps(name: str) -> None:
    assert summary(build_trajectories(recording(name))) == read_expected(EXPECTED)[name]


@pytest.mark.parametrize("name", NAMES)
def test_every_event_of_a_recording_is_in_one_step(name: str) -> None:
    events = recording(name)
    held = build_trajectories(events)["event_ids"].explode().to_list()
    assert sorted(held) == sorted(events["event_id"].to_list())
