"""Tests of the older layout as a source."""

import json
from pathlib import Path

from agent_evo_dagster.capture.sources.legacy import LegacyEvents
from tests.agent_evo_dagster.capture.spools import legacy, record
from tests.agent_evo_dagster.capture.transcripts import KEY, prompt, put


def test_only_events_of_the_layout_are_recognised() -> None:
    lines = [legacy(1), record(1), prompt("go"), b'{"type": "tool_call"}']
    assert [LegacyEvents().recognises([json.loads(line)]) for line in lines] == [True, False, False, False]


def test_the_folder_names_the_session_and_no_path(tmp_path: Path) -> None:
    assert LegacyEvents().target(tmp_path / "old" / "events.jsonl", []) == "legacy/old/events.jsonl"
    assert LegacyEvents().target(Path("/..", "events.jsonl"), []).startswith("legacy/_id-")


def test_each_line_is_an_event_or_quarantined(tmp_path: Path) -> None:
    part = put(tmp_path, "legacy/old/events.jsonl", legacy(1) + b"\nbroken\n" + legacy(2) + b"\n")
    reading = LegacyEvents().read(tmp_path, [part], key=KEY)
    assert (reading.lines, reading.events.height, reading.quarantine.height) == (3, 2, 1)
    assert reading.events["source"].unique().to_list() == ["legacy"]
