"""Every command line in the code blocks of the shipped skills is run, block by block, as an agent would."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.fences import scan
from agent_evo_dagster.patches.review import reviews
from agent_evo_dagster.patches.types import PatchStatus
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_all, compile_skill
from agent_evo_dagster.warehouse import Warehouse
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK
from tests.agent_evo_dagster.skills.standins import ROOT, another_machine, trainer

FIRST = "round-0001"
# In an order in which each finds what it needs. `rllm-remote-run` is watched from within.
ORDER = [
    "rllm-clarify",
    "rllm-config",
    "rllm-config-check",
    "rllm-run",
    "rllm-monitor",
    "rllm-analyze",
    "rllm-analyze-deep",
    "rllm-analyze-accuracy",
    "rllm-train",
    "traj-setup",
    "traj-segment",
    "traj-analyze-rllm",
    "traj-optimize",
    "traj-status",
    "traj-launch-training",
    "traj-train-optimize",
    "traj-loop",
    "rllm-remote-connect",
    "rllm-remote-run",
]


def blocks(skill: str) -> list[str]:
    """The code blocks of a skill that an agent runs."""
    text = compile_skill(SkillBank.open(DEFAULT_BANK), skill).text
    found: dict[int, str] = {}
    for line in scan(text):
        if line.part == "code" and line.info == "sh":
            found[line.fence] = found.get(line.fence, "") + line.text
    return list(found.values())


@dataclass
class Desk:
    """A checkout with a home, a trainer without a model, and another machine."""

    folder: Path
    environment: dict[str, str]
    settings: Settings
    round: str = FIRST
    outputs: dict[str, str] = field(default_factory=dict)

    def run(self, skill: str, block: str) -> None:
        """Run one block, with placeholders filled in; it must succeed, and what it left running must end."""
        done = subprocess.run(
            ["bash", "-c", "set -euo pipefail\n" + self._filled(block)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{skill}:\n{block}\n{done.stdout}\n{done.stderr}"
        self.outputs[skill] = self.outputs.get(skill, "") + done.stdout
        self.wait()

    def wait(self) -> None:
        """Wait for runs in the background, whose process ids stand in files."""
        for path in [*self.folder.glob("*.pid"), *(self.folder.parent / "machine/remote").rglob("*.pid")]:
            deadline = time.monotonic() + 120
            while _runs(int(path.read_text())):
                assert time.monotonic() < deadline, f"{path} still runs"
                time.sleep(0.2)
            path.unlink()

    def _filled(self, block: str) -> str:
        if "agent-evo rounds open" in block:
            self.round = f"round-{len(RoundStore(self.settings.rounds).keys()) + 1:04d}"
        if "PATCH_ID" in block:
            block = block.replace("PATCH_ID", self._waiting())
        return block.replace(FIRST, self.round).replace("NAME", "Ada")

    def _waiting(self) -> str:
        """The patch that was proposed last and that nobody has decided on, or the one decided last."""
        found = reviews(Warehouse(self.settings.warehouse), ledger_of(self.settings.bank_path))
        waiting = [one for one in found if one.status is PatchStatus.EVALUATED]
        return (waiting or found)[-1].patch.id


def _runs(process: int) -> bool:
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "README.md").write_text("a checkout\n")
    left_out = {"DAGSTER_HOME", "AGENT_EVO_BANK"}
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}
    path = [str(another_machine(tmp_path / "machine")), str(Path(sys.executable).parent), inherited["PATH"]]
    environment = {
        **inherited,
        "PATH": os.pathsep.join(path),
        "AGENT_EVO_HOME": str(tmp_path / "home"),
        "AGENT_EVO_POLICY": "manual",
        "AGENT_EVO_TRAINER_PYTHON": str(trainer(tmp_path / "python")),
        "COLUMNS": "200",
    }
    command = ["agent-evo", "import", str(ROOT / "samples")]
    subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True)
    return Desk(folder, environment, Settings(home=tmp_path / "home"))


def test_the_order_has_every_skill_of_the_bank() -> None:
    names = {ref.name for ref in SkillBank.open(DEFAULT_BANK).skills()}
    assert {*ORDER, "rllm-remote-monitor"} == names
    assert [skill for skill in names if not blocks(skill)] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_command_line_of_every_skill_runs(desk: Desk) -> None:
    for skill in ORDER[:-1]:
        desk.round = FIRST
        for block in blocks(skill):
            desk.run(skill, block)
    send, start, fetch = blocks("rllm-remote-run")
    desk.run("rllm-remote-run", send)
    desk.run("rllm-remote-run", start)
    for block in blocks("rllm-remote-monitor"):
        desk.run("rllm-remote-monitor", block)
    desk.run("rllm-remote-run", fetch)

    assert "not understood" not in desk.outputs["rllm-config-check"]
    assert f"{FIRST} waiting" in desk.outputs["rllm-monitor"]
    assert "plus_minus" in desk.outputs["rllm-analyze-accuracy"]
    assert "dead_groups" in desk.outputs["rllm-analyze-deep"]
    assert "16 of 16 events are captured" in desk.outputs["traj-setup"]
    assert "is approved by Ada" in desk.outputs["traj-optimize"]
    assert "brought rllm-run to version 1" in desk.outputs["traj-optimize"]
    assert "trained\nevaluated\n" in desk.outputs["rllm-remote-monitor"]
    # Its training came back: the patch of the round before is decided on, so nothing waits in this one.
    assert f"{desk.round}: complete" in desk.outputs["rllm-remote-run"]
    bank = SkillBank.open(desk.settings.bank_path)
    shipped = {skill.name: skill.text for skill in compile_all(SkillBank.open(DEFAULT_BANK))}
    changed = [skill.name for skill in compile_all(bank) if skill.text != shipped[skill.name]]
    assert changed == ["rllm-config"]  # the patch that was approved
