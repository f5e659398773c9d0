"""What a result says of the machine that computed it."""

from pathlib import Path

import pytest

from agent_evo_dagster.training import hardware as room
from agent_evo_dagster.training.hardware import hardware


def test_the_processor_is_told_by_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text("processor\t: 0\nmodel name\t: Some CPU: 3 GHz\nmodel name\t: Other\n")
    monkeypatch.setattr(room, "CPU_INFO", told)
    assert hardware()["cpu"] == "Some CPU: 3 GHz"
    monkeypatch.setattr(room, "CPU_INFO", tmp_path / "gone")
    monkeypatch.setattr("platform.processor", lambda: "")
    assert hardware()["cpu"] == "unknown"


def test_the_instructions_that_torch_uses_are_told_where_it_is_loaded() -> None:
    pytest.importorskip("torch")
    assert {"system", "machine", "cpu", "cpu_capability", "accelerator"} == hardware().keys()
