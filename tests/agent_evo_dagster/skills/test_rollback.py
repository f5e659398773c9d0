"""Skills go back to the bytes of a kept version, on record, all or nothing, and forth again."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.errors import DecisionError, SkillBankError
from agent_evo_dagster.patches.decisions import approve, ledger_of
from agent_evo_dagster.patches.records import RollbackRecord
from agent_evo_dagster.patches.types import PATCH_DECISION_SCHEMA, GateVerdict, Patch
from agent_evo_dagster.rounds.adoption import adopt_approved, not_adopted
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_skill
from agent_evo_dagster.skills.journal import JOURNAL
from agent_evo_dagster.skills.rollback import Rollback, roll_back_patch, roll_back_skill
from agent_evo_dagster.skills.status import states
from agent_evo_dagster.skills.versions import find_version, versions
from agent_evo_dagster.skills.writing import write_skills
from tests.agent_evo_dagster.skills.banks import bank_at, patch
from tests.agent_evo_dagster.skills.test_adopt import ROOT, files

ONE = "First.\n"
NOW = datetime(2026, 1, 3, tzinfo=UTC)
ASKED = Rollback("Ada", "it got worse", NOW)
MORE = patch(ONE, "More.\n")
LAST = patch("First.\n\nMore.\n", "Last.\n")


@pytest.fixture
def bank(tmp_path: Path) -> SkillBank:
    """Two patches on one section, adopted one after the other."""
    made = bank_at(tmp_path, "alpha", "beta")
    adopt(made, [MORE])
    adopt(made, [LAST])
    return made


def output(bank: SkillBank, skill: str = "alpha") -> bytes:
    return (bank.project / bank.ref(skill).output).read_bytes()


def kept(bank: SkillBank, number: int) -> bytes:
    version = versions(bank, bank.ref("alpha"))[number - 1]
    return (bank.path / f"compiled/rllm/alpha/{version.sha256}.md").read_bytes()


def test_versions_are_numbered_and_the_one_before_the_first_patch_is_kept(bank: SkillBank) -> None:
    found = versions(bank, bank.ref("alpha"))
    assert [(version.number, version.recipe.applied) for version in found] == [
        (1, ()),
        (2, (MORE.id,)),
        (3, (MORE.id, LAST.id)),
    ]
    assert versions(bank, bank.ref("beta")) == []


@pytest.mark.parametrize("number", [1, 2])
def test_a_skill_goes_back_to_the_bytes_of_a_version_and_forth_again(bank: SkillBank, number: int) -> None:
    newest = output(bank)
    report = roll_back_skill(bank, "alpha", str(number), ASKED)
    assert output(bank) == kept(bank, number) == report.after.text.encode()
    assert (report.from_version, report.to_version) == (3, number)
    assert report.removed == (MORE.id, LAST.id)[number - 1 :]
    manifest = bank.manifest(bank.ref("alpha"))
    assert (manifest.active, manifest.disabled) == ((MORE.id, LAST.id), report.removed)
    assert states(bank)[0].state == "current"
    again = roll_back_skill(bank, "alpha", report.before.sha256[:12] if report.before else "", ASKED)
    assert output(bank) == newest
    assert again.restored == report.removed
    assert bank.manifest(bank.ref("alpha")).disabled == ()
    assert [version.number for version in versions(bank, bank.ref("alpha"))] == [1, 2, 3]


def test_one_patch_is_taken_out_by_the_beginning_of_its_id(bank: SkillBank) -> None:
    report = roll_back_patch(bank, LAST.id[:8], ASKED)
    assert (report.removed, report.to_version) == ((LAST.id,), 2)
    assert output(bank) == kept(bank, 2)
    before = files(bank.project)
    again = roll_back_patch(bank, LAST.id, ASKED)
    assert (again.changed, again.written) == (False, ())
    assert files(bank.project) == before


def test_a_patch_that_others_stand_on_is_not_taken_out_alone(bank: SkillBank) -> None:
    before = files(bank.project)
    with pytest.raises(SkillBankError, match=f"{MORE.id} cannot be taken out of alpha alone: {LAST.id} came"):
        roll_back_patch(bank, MORE.id, ASKED)
    assert files(bank.project) == before
    roll_back_patch(bank, LAST.id, ASKED)
    assert roll_back_patch(bank, MORE.id, ASKED).to_version == 1


def test_a_patch_that_another_skill_depends_on_is_not_taken_out(bank: SkillBank) -> None:
    other = patch(ONE, "Else.\n", skill="beta", depends_on=[LAST.id])
    adopt(bank, [other])
    with pytest.raises(SkillBankError, match=f"{other.id} came after it.*depends on patch {LAST.id}"):
        roll_back_patch(bank, LAST.id, ASKED)
    with pytest.raises(SkillBankError, match=f"depends on patch {LAST.id}, which is not active"):
        roll_back_skill(bank, "alpha", "1", ASKED)
    assert bank.manifest(bank.ref("alpha")).disabled == ()


def test_it_is_on_record_with_who_why_and_what(bank: SkillBank) -> None:
    report = roll_back_skill(bank, "alpha", "v1", ASKED)
    (record,) = ledger_of(bank.path).records()
    assert record == RollbackRecord(
        at=NOW,
        skill="alpha",
        before=report.before.sha256 if report.before else None,
        after=report.after.sha256,
        removed=(MORE.id, LAST.id),
        restored=(),
        by="Ada",
        reason="it got worse",
        prev=record.prev,
        hash=record.hash,
    )


@pytest.mark.parametrize(
    ("by", "reason"), [("", "r"), ("policy:auto", "r"), ("Ada", " "), ("Ada", "\x1b[0m")]
)
def test_nobody_and_no_reason_are_no_record(bank: SkillBank, by: str, reason: str) -> None:
    before = files(bank.project)
    with pytest.raises(DecisionError):
        roll_back_skill(bank, "alpha", "1", Rollback(by, reason, NOW))
    assert files(bank.project) == before


def test_a_dry_run_writes_nothing(bank: SkillBank) -> None:
    before = files(bank.project)
    report = roll_back_skill(bank, "alpha", "1", Rollback("Ada", "look", NOW, dry_run=True))
    assert (report.changed, report.written, report.to_version) == (True, (), 1)
    assert files(bank.project) == before


def test_the_base_file_comes_back_and_the_edited_one_is_kept(bank: SkillBank) -> None:
    base = bank.path / "rllm/alpha/base.md"
    old = base.read_text()
    edited = old.replace("Free text.", "Loose text.")
    base.write_text(edited)
    report = roll_back_skill(bank, "alpha", "3", ASKED)
    assert base.read_text() == old
    assert (report.from_version, report.to_version) == (4, 3)
    roll_back_skill(bank, "alpha", "4", ASKED)
    assert base.read_text() == edited
    assert b"Loose text." in output(bank)


def test_a_bank_that_does_not_compile_is_mended_and_its_base_kept(bank: SkillBank) -> None:
    base = bank.path / "rllm/alpha/base.md"
    broken = base.read_text().replace("<!-- /section:two -->", "")
    base.write_text(broken)
    report = roll_back_skill(bank, "alpha", "3", ASKED)
    assert report.before is None
    assert states(bank)[0].state == "current"
    assert broken in [path.read_text() for path in (bank.path / "compiled/rllm/alpha/base").iterdir()]


def test_an_output_edited_by_hand_is_not_overwritten(bank: SkillBank) -> None:
    (bank.project / bank.ref("alpha").output).write_text("by hand")
    with pytest.raises(SkillBankError, match="edited by hand"):
        roll_back_skill(bank, "alpha", "1", ASKED)
    assert output(bank) == b"by hand"


@pytest.mark.parametrize("wanted", ["4", "0", "abcdef0", "", "../x", "latest"])
def test_an_unknown_version_is_refused_with_those_that_exist(bank: SkillBank, wanted: str) -> None:
    with pytest.raises(SkillBankError, match=r"no versions of alpha are called .* 1 \([0-9a-f]{12}\), 2"):
        roll_back_skill(bank, "alpha", wanted, ASKED)


def test_changed_parts_of_a_version_are_refused(bank: SkillBank) -> None:
    version = find_version(bank, bank.ref("alpha"), "1")
    copy = bank.path / f"compiled/rllm/alpha/{version.sha256}.md"
    copy.write_text(copy.read_text() + "x")
    with pytest.raises(SkillBankError, match="was changed since it was kept"):
        roll_back_skill(bank, "alpha", "1", ASKED)


def test_a_broken_record_is_refused_before_anything_changes(bank: SkillBank) -> None:
    (bank.path / "decisions.jsonl").write_text("{}\n")
    before = files(bank.project)
    with pytest.raises(DecisionError, match="breaks the chain"):
        roll_back_skill(bank, "alpha", "1", ASKED)
    assert files(bank.project) == before


def test_a_listed_patch_that_came_later_keeps_its_place_in_the_manifest(bank: SkillBank) -> None:
    roll_back_patch(bank, LAST.id, ASKED)
    third = patch("First.\n\nMore.\n", "Third.\n")
    adopt(bank, [third])
    report = roll_back_skill(bank, "alpha", "3", ASKED)
    manifest = bank.manifest(bank.ref("alpha"))
    assert (report.removed, report.restored) == ((third.id,), (LAST.id,))
    assert (manifest.active, manifest.disabled) == ((MORE.id, LAST.id, third.id), (third.id,))
    assert compile_skill(bank, "alpha").text.encode() == output(bank) == kept(bank, 3)


def approved(bank: SkillBank, *items: Patch) -> pl.DataFrame:
    """The decisions of a round that approved these patches."""
    ledger = ledger_of(bank.path)
    rows = []
    for item in items:
        held = approve(ledger, item, gate=GateVerdict.ACCEPT, by="Ada", reason="good", at=NOW)
        fields = {"patch_id": item.id, "diff_hash": held.diff_hash, "decision": "approve", "by": "Ada"}
        rows.append({**fields, "gate_verdict": "accept", "reason": "good", "decided_at": NOW})
    return pl.DataFrame([{**row, "record_hash": "x"} for row in rows], schema=PATCH_DECISION_SCHEMA)


def test_making_an_old_round_again_does_not_bring_a_patch_back(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    ledger, decisions = ledger_of(bank.path), approved(bank, MORE)
    assert adopt_approved(bank, ledger, [MORE], decisions, now=NOW).adopted == (MORE.id,)
    assert ledger.adoption(MORE.id) is not None
    roll_back_patch(bank, MORE.id, ASKED)
    assert ledger.adoption(MORE.id) is None
    before = files(bank.project)
    again = adopt_approved(bank, ledger, [MORE], decisions, now=NOW)
    assert (again.adopted, again.earlier, again.written) == ((), (MORE.id,), 0)
    assert files(bank.project) == before
    assert not_adopted(ledger) == []
    roll_back_skill(bank, "alpha", "2", ASKED)
    assert ledger.adoption(MORE.id) is not None
    assert b"More." in output(bank)


KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from agent_evo_dagster import files
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.rollback import Rollback, roll_back_skill

real = {"replace": os.replace, "unlink": Path.unlink, "write": os.write, "mkstemp": files.tempfile.mkstemp}

def step(name):
    def call(*arguments, **keywords):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real[name](*arguments, **keywords)
    return call

for number in range(int(sys.argv[2])):
    if os.fork() == 0:
        bank, left = SkillBank.open(Path(sys.argv[1]) / str(number) / "bank"), number
        os.replace, Path.unlink, os.write = step("replace"), step("unlink"), step("write")
        files.tempfile.mkstemp = step("mkstemp")
        roll_back_skill(bank, "alpha", "1", Rollback("Ada", "worse", datetime(2026, 1, 3, tzinfo=UTC)))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_a_kill_at_any_step_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    def made(folder: str) -> SkillBank:
        bank = bank_at(tmp_path / folder)
        adopt(bank, [MORE])
        return bank

    done = made("done")
    old = files(done.project)
    roll_back_skill(done, "alpha", "1", Rollback("Ada", "worse", NOW))
    new = files(done.project)
    operations = 2 * (1 + 1 + 1) + 1 + 1  # journal, manifest, output; the line of the record; its removal
    banks = [made(str(number)) for number in range(operations + 1)]
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(operations + 1)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert [int(line) for line in run.stdout.split()] == [-signal.SIGKILL] * operations + [0]
    for number, bank in enumerate(banks):
        decided = number >= 2
        assert decided == ((bank.path / JOURNAL).exists() or bank is banks[-1])
        SkillBank.open(bank.path)
        leftover = {name for name in files(bank.project) if Path(name).name.startswith("..journal")}
        assert {n: d for n, d in files(bank.project).items() if n not in leftover} == (
            new if decided else old
        )


def test_lists_written_by_hand_are_edited_in_place(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    write_skills(bank, ["alpha"])
    adopt(bank, [MORE])
    manifest = bank.path / "rllm/alpha/manifest.yaml"
    manifest.write_text(f"# by hand\nactive: []\ndisabled:\n- {MORE.id}  # for now\n")
    write_skills(bank, ["alpha"])
    roll_back_skill(bank, "alpha", "2", ASKED)
    assert manifest.read_text() == f"# by hand\nactive:\n  - {MORE.id}\ndisabled: []\n"
