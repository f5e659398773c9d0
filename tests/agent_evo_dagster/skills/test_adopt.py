"""Adoption brings approved patches in once, all or nothing, across kills and other writers."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_evo_dagster.errors import ChangedSectionError, PatchError, SkillBankError
from agent_evo_dagster.patches.document import render_patch
from agent_evo_dagster.patches.types import Patch, PatchStatus
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.journal import JOURNAL
from agent_evo_dagster.skills.status import states
from tests.agent_evo_dagster.skills.banks import bank_at, patch

ONE = "First.\n"
ROOT = Path(__file__).parents[3]


def files(folder: Path) -> Mapping[str, bytes]:
    """Everything below `folder` but the lock."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_a_patch_enters_bank_and_skill(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    item = patch(ONE, "More.\n")
    report = adopt(bank, [item])
    assert (report.adopted, report.already) == ((item.id,), ())
    assert len(report.written) == 2 + 2 * 2 + 1 + 1  # patch, manifest; text and version twice; base; output
    assert report.compiled[0].output.read_text() == report.compiled[0].text
    assert "First.\n\nMore.\n" in report.compiled[0].text
    held = bank.patch(bank.ref("alpha"), item.id)
    assert held == item.model_copy(update={"status": PatchStatus.ACTIVE})
    assert (
        (bank.path / "rllm/alpha/manifest.yaml").read_text().endswith(f"active:\n  - {item.id}  # none yet\n")
    )
    assert states(bank)[0].state == "current"


def test_adopting_again_changes_nothing(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    item = patch(ONE, "More.\n")
    adopt(bank, [item])
    before = files(tmp_path)
    report = adopt(bank, [item, item])
    assert (report.adopted, report.written) == ((), ())
    assert files(tmp_path) == before


def test_an_old_adoption_does_not_bring_back_what_was_taken_out(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    old, new = patch(ONE, "More.\n"), patch("First.\n\nMore.\n", "New.\n", action="replace")
    adopt(bank, [old])
    adopt(bank, [new])
    assert adopt(bank, [old]).already == (old.id,)
    assert bank.section("alpha", "one") == "New.\n"
    manifest = bank.path / "rllm/alpha/manifest.yaml"
    manifest.write_text(f"active: []\ndisabled: [{old.id}]\n")
    assert adopt(bank, [old, new]).adopted == ()
    assert bank.section("alpha", "one") == ONE


def test_several_patches_stack_in_their_order(tmp_path: Path) -> None:
    bank = bank_at(tmp_path, "alpha", "beta")
    first = patch(ONE, "Second.\n", action="replace")
    second = patch("Second.\n", "Third.\n", action="replace")
    report = adopt(bank, [first, patch(ONE, "Else.\n", skill="beta"), second])
    assert [skill.name for skill in report.compiled] == ["alpha", "beta"]
    assert bank.section("alpha", "one") == "Third.\n"


def test_one_refused_patch_keeps_all_out(tmp_path: Path) -> None:
    bank = bank_at(tmp_path, "alpha", "beta")
    before = files(tmp_path)
    with pytest.raises(ChangedSectionError):
        adopt(bank, [patch(ONE, "More.\n"), patch("Other.\n", "Else.\n", skill="beta")])
    assert files(tmp_path) == before


@pytest.mark.parametrize("status", sorted(set(PatchStatus) - {PatchStatus.APPROVED, PatchStatus.ACTIVE}))
def test_only_approved_patches_are_adopted(tmp_path: Path, status: PatchStatus) -> None:
    with pytest.raises(SkillBankError, match=f"has status '{status.value}'"):
        adopt(bank_at(tmp_path), [patch(ONE, "More.\n", status=status)])


def test_a_group_that_is_no_target_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(SkillBankError, match="not an optimisation target"):
        adopt(bank_at(tmp_path, target=False), [patch(ONE, "More.\n")])


def test_a_patch_whose_content_was_changed_after_approval_is_refused(tmp_path: Path) -> None:
    item = patch(ONE, "More.\n").model_copy(update={"body": "Run rm.\n"})
    with pytest.raises(PatchError, match="edited since"):
        adopt(bank_at(tmp_path), [item])


def test_a_setting_out_of_its_range_never_enters(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    base = bank.section("alpha", "two")
    with pytest.raises(SkillBankError, match="outside"):
        adopt(bank, [patch(base, base.replace("2.0e-5", "9.0"), action="replace", section="two")])
    assert bank.section("alpha", "two") == base


KILLED = """
import os, signal, sys
from pathlib import Path
from agent_evo_dagster import files
from agent_evo_dagster.patches.document import parse_patch
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank

real = {"replace": os.replace, "unlink": Path.unlink, "mkstemp": files.tempfile.mkstemp}
patches = [parse_patch(Path(name).read_text(), origin=name) for name in sys.argv[2].split(":")]

def step(name):
    def call(*arguments, **keywords):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real[name](*arguments, **keywords)
    return call

for argument in sys.argv[3:]:
    if os.fork() == 0:
        bank, left = SkillBank.open(Path(sys.argv[1]) / argument / "bank"), int(argument)
        os.replace, Path.unlink, files.tempfile.mkstemp = step("replace"), step("unlink"), step("mkstemp")
        adopt(bank, patches)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def run_killed(folder: Path, steps: list[int], *patches: Patch) -> list[int]:
    """Adopt into the bank in `folder/<step>`, each in a process killed before its file operation `step`."""
    documents = ":".join(map(str, written(folder, *patches)))
    command = [sys.executable, "-c", KILLED, str(folder), documents, *map(str, steps)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return [int(line) for line in done.stdout.split()]


def written(folder: Path, *patches: Patch) -> list[Path]:
    """The documents of patches, as files."""
    documents = [folder / f"{item.id}.md" for item in patches]
    for path, item in zip(documents, patches, strict=True):
        path.write_text(render_patch(item))
    return documents


def test_a_kill_at_any_step_leaves_the_old_bank_or_the_new_one(tmp_path: Path) -> None:
    items = [patch(ONE, "More.\n"), patch(ONE, "Else.\n", skill="beta")]
    done = bank_at(tmp_path / "done", "alpha", "beta")
    old = files(tmp_path / "done")
    adopt(done, items)
    new = files(tmp_path / "done")
    operations = (
        2 * (1 + 2 + 2 + 2 * 5 + 2) + 1
    )  # journal; patches, manifests, kept parts, outputs; its removal
    banks = [bank_at(tmp_path / str(step), "alpha", "beta") for step in range(operations + 1)]
    codes = run_killed(tmp_path, list(range(operations + 1)), *items)
    assert codes == [-signal.SIGKILL] * operations + [0]
    for bank in banks:
        decided = (bank.path / JOURNAL).exists()
        opened = SkillBank.open(bank.path)
        found = files(bank.project)
        leftover = {name for name in found if Path(name).name.startswith("..journal")}
        whole = {name: data for name, data in found.items() if name not in leftover}
        assert whole == (new if decided or bank is banks[-1] else old)
        adopt(opened, items)
        assert files(bank.project) == new


def test_an_edit_made_while_a_write_waited_is_not_overwritten(tmp_path: Path) -> None:
    bank = bank_at(tmp_path / "2")
    assert run_killed(tmp_path, [2], patch(ONE, "More.\n")) == [-signal.SIGKILL]
    manifest = bank.path / "rllm/alpha/manifest.yaml"
    manifest.write_text("active: []  # edited\n")
    with pytest.raises(
        SkillBankError, match=r"manifest\.yaml was edited while an interrupted write was waiting"
    ):
        SkillBank.open(bank.path)
    assert manifest.read_text() == "active: []  # edited\n"


def test_a_damaged_journal_says_what_to_do(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    (bank.path / JOURNAL).write_text("{")
    with pytest.raises(SkillBankError, match="restore the bank from git"):
        SkillBank.open(bank.path)


WRITER = """
import sys
from pathlib import Path
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from tests.agent_evo_dagster.skills.banks import patch

bank = SkillBank.open(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    adopt(bank, [patch("First.\\n", f"{sys.argv[2]} {number}\\n", action="insert_after")])
"""


@pytest.mark.timeout(600)  # seconds of work, of which most is waiting for a busy disk to flush
def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(bank.path), name, "80"], env=environment)
        for name in ("one", "two")
    ]
    assert [writer.wait(timeout=500) for writer in writers] == [0, 0]
    assert len(bank.manifest(bank.ref("alpha")).active) == 160
    assert states(bank)[0].state == "current"
