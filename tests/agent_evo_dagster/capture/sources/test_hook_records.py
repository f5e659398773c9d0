"""Tests of spool records as a source."""

import json
from pathlib import Path

from agent_evo_dagster.capture.sources.hook_records import HookRecords
from tests.agent_evo_dagster.capture.spools import legacy, record
from tests.agent_evo_dagster.capture.transcripts import KEY, prompt, put


def test_only_records_of_hooks_are_recognised() -> None:
    lines = [record(1), legacy(1), prompt("go"), b"{}"]
    assert [HookRecords().recognises([json.loads(line)]) for line in lines] == [True, False, False, False]
    assert HookRecords().target(Path("any.jsonl"), []) is None


def test_each_line_is_an_event_or_quarantined(tmp_path: Path) -> None:
    part = put(tmp_path, "hooks/s-1.jsonl", record(1) + b"\nbroken\n" + record(2) + b"\n")
    reading = HookRecords().read(tmp_path, [part], key=KEY)
    assert (reading.lines, reading.events.height, reading.quarantine.height) == (3, 2, 1)
    assert reading.passed == {}
