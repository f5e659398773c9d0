"""The benchmark of capture: its figures exist, and repeating sessions makes new ones of them."""

from pathlib import Path

import pytest

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.capture.read import read_slices
from benchmarks import capture, capture_chain, capture_sensor, capture_transcripts
from tests.agent_evo_dagster.capture.transcripts import call, prompt, result, said


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    folder = tmp_path / "spool"
    import_sessions(capture.ROOT / "samples", folder)
    return folder


def test_repeated_sessions_are_other_sessions(spool: Path, tmp_path: Path) -> None:
    once = read_slices(spool, capture_chain.all_slices(spool), key=b"k").events
    size = sum(part.end for part in capture_chain.all_slices(spool))
    capture_chain.repeat(spool, tmp_path / "large", 3 * size)
    large = read_slices(tmp_path / "large", capture_chain.all_slices(tmp_path / "large"), key=b"k")
    assert large.events.height == 3 * once.height and large.quarantine.is_empty()
    assert large.events["session_id"].n_unique() == 3 * once["session_id"].n_unique()


def test_every_stage_has_a_time_and_samples_hold_no_secrets(spool: Path) -> None:
    times = capture_chain.chain_times(spool, 1)
    stages = ("json", "read", "trajectories", "segments")
    assert times.keys() == {"lines", *(f"{stage}{kind}_ms" for stage in stages for kind in ("", "_cpu"))}
    assert capture_chain.taken_for_secrets(spool)["placeholders"] == 0


def test_reading_transcripts_is_measured_beside_its_floor(tmp_path: Path) -> None:
    (tmp_path / "s-1.jsonl").write_bytes(prompt("hello") + said(call("t1")) + result("t1"))
    figures = capture_transcripts.transcript_times(tmp_path / "s-1.jsonl", tmp_path / "spool", 1)
    assert figures["transcript_lines"] == 3 and figures["transcripts_x_json"] > 0


def test_a_look_of_the_sensor_is_measured(tmp_path: Path) -> None:
    looks = ("tick_first", "tick", "tick_with_transcripts_first", "tick_with_transcripts")
    figures = capture_sensor.tick_times(tmp_path, files=30, changed=3)
    assert figures.keys() == {f"{name}_ms" for name in looks}


def test_the_chain_in_a_process_tells_its_memory(spool: Path) -> None:
    figures = capture_chain.chain_in_a_process(spool)
    assert figures["peak_mb"] > 10 and figures["bytes"] > 0
