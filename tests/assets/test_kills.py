"""A kill in the middle of compiling: the next run finishes what was decided, nothing is half-written."""

import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_evo_dagster.patches.decisions import approve
from agent_evo_dagster.patches.frames import patches_from_frame
from agent_evo_dagster.patches.records import AdoptionRecord
from agent_evo_dagster.patches.types import GateVerdict
from tests.assets.graph import ROOT, bytes_of, fake_graph, only_round

# Before anything; the journal alone; the patch file too; every file, but not the record of it.
MOMENTS = ["0", "1", "2", "recorded"]
OLD, NEW = "learning_rate: {default: 2.0e-5,", "learning_rate: {default: 0.0001,"


@pytest.fixture(scope="module")
def killed(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a home for each moment, in which compiling an approved patch was killed then."""
    folder = tmp_path_factory.mktemp("killed")
    home = shutil.copytree(finished, folder / "home")
    with fake_graph(home, policy="manual", sessions=False) as graph:
        (patch,) = patches_from_frame(graph.frame("skill_patches", only_round(graph)))
        gate = GateVerdict.ACCEPT
        approve(graph.ledger, patch, gate=gate, by="Ada", reason="good", at=datetime.now(UTC))
    command = [sys.executable, "-m", "tests.assets.killed_adoption", str(home), *MOMENTS]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert [int(line) for line in done.stdout.split()] == [-signal.SIGKILL] * len(MOMENTS), done.stderr
    return folder


def test_the_next_run_finishes_it_the_same_whenever_it_was_killed(killed: Path) -> None:
    ends = [finish(killed / moment) for moment in MOMENTS]
    assert all(end == ends[0] for end in ends)


def finish(home: Path) -> dict[str, bytes]:
    """Run again what was killed; what bank and skills then hold, but for times."""
    text = (home / ".claude/skills/rllm-config/SKILL.md").read_text()
    assert (OLD in text) != (NEW in text)  # whole, the old or the new
    with fake_graph(home, policy="manual", sessions=False) as graph:
        key = only_round(graph)
        assert graph.run(key, "adopt").success
        (patch,) = graph.frame("skill_patches", key)["patch_id"]
        assert NEW in graph.skill("rllm-config").read_text()
        assert list(graph.bank.active()) == [patch]
        records = [record for record in graph.ledger.records() if isinstance(record, AdoptionRecord)]
        assert [record.patch_id for record in records] == [patch]
        assert graph.ledger.torn() == b""
    assert not leftovers(home)
    found = {**bytes_of(home / "skill_bank"), **bytes_of(home / ".claude")}
    return {name: data for name, data in found.items() if not told_by_a_clock(name)}


def told_by_a_clock(name: str) -> bool:
    """The record says when it was made; so does the package that holds it."""
    return name == "decisions.jsonl" or name.startswith("packages/")


def leftovers(home: Path) -> list[str]:
    """Files in the making, and journals, that a kill may leave."""
    found = [path.name for root in ("skill_bank", ".claude") for path in (home / root).rglob(".*")]
    return [name for name in found if name != ".gitignore" and not name.endswith(".lock")]
