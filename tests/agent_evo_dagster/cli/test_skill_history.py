"""The commands on versions: what a person types to go back, and what they are told."""

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agent_evo_dagster.analysis.views.life import ways
from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.records import AdoptionRecord, DecisionRecord
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from tests.agent_evo_dagster.skills.banks import bank_at, patch

MORE = patch("First.\n", "More.\n")
WHO = ["--by", "Ada", "--reason", "worse"]


@pytest.fixture
def bank(tmp_path: Path) -> SkillBank:
    made = bank_at(tmp_path)
    adopt(made, [MORE])
    return made


def run(bank: SkillBank, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["skills", *arguments, "--bank", str(bank.path)])


def test_versions_are_listed_with_the_current_one_marked(bank: SkillBank) -> None:
    listed = run(bank, "versions", "alpha")
    assert listed.exit_code == 0
    assert listed.output.count("current") == 1
    document = json.loads(run(bank, "versions", "alpha", "--json").output)
    assert [row["version"] for row in document["versions"]] == [1, 2]
    assert [row["current"] for row in document["versions"]] == [False, True]
    assert document["versions"][1]["patches"] == [MORE.id]


def test_a_rollback_shows_what_it_did_and_how_to_undo_it(bank: SkillBank) -> None:
    done = run(bank, "rollback", "alpha", "--to", "1", *WHO)
    assert done.exit_code == 0
    assert "-More.\n" in done.output
    assert f"out: {MORE.id}\n" in done.output
    undo = next(line.removeprefix("undo: ") for line in done.output.splitlines() if line.startswith("undo"))
    undone = run(bank, *shlex.split(undo.replace("NAME", "Ada").replace("TEXT", "'as before'"))[2:])
    assert f"in again: {MORE.id}\n" in undone.output
    assert "nothing to do" in run(bank, "rollback", "alpha", "--to", "2", *WHO).output


def test_a_dry_run_only_tells(bank: SkillBank) -> None:
    before = {path: path.read_bytes() for path in bank.project.rglob("*") if path.is_file()}
    told = run(bank, "rollback", MORE.id, *WHO, "--dry-run")
    assert "would bring alpha to version 1" in told.output
    assert {path: path.read_bytes() for path in bank.project.rglob("*") if path.is_file()} == before


def test_the_document_says_the_same(bank: SkillBank) -> None:
    document = json.loads(run(bank, "rollback", MORE.id, *WHO, "--json").output)
    assert (document["skill"], document["changed"], document["removed"]) == ("alpha", True, [MORE.id])
    assert (document["from"]["version"], document["to"]["version"]) == (2, 1)
    assert len(document["written"]) == 2


def test_the_lines_that_a_report_prints_take_the_patch_out_and_put_it_back(bank: SkillBank) -> None:
    (undo,) = printed("in")
    assert run(bank, *undo).exit_code == 0
    assert bank.manifest(bank.ref("alpha")).disabled == (MORE.id,)
    look, back = printed("out", VERSION="2")
    assert MORE.id in run(bank, *look, "--json").output
    assert run(bank, *back).exit_code == 0
    assert bank.manifest(bank.ref("alpha")).disabled == ()


def printed(state: str, **words: str) -> list[list[str]]:
    """The commands of `agent-evo skills` that a report prints for a patch that stands so, filled in."""
    filled = {"NAME": "Ada", "TEXT": "worse", **words}
    lines = [shlex.split(line) for _, line in ways(MORE.id, "alpha", "round-0001", state)]
    assert all(line[:2] == ["agent-evo", "skills"] for line in lines)
    return [[filled.get(word, word) for word in line[2:]] for line in lines]


def test_a_patch_has_no_version_and_a_skill_needs_one(bank: SkillBank) -> None:
    assert "--to is for a skill" in str(run(bank, "rollback", MORE.id, "--to", "1", *WHO).exception)
    assert "say to which version" in str(run(bank, "rollback", "alpha", *WHO).exception)
    assert isinstance(run(bank, "rollback", "p-00", *WHO).exception, SkillBankError)


@pytest.mark.parametrize("missing", [["--by", "Ada"], ["--reason", "worse"]])
def test_name_and_reason_must_be_given(bank: SkillBank, missing: list[str]) -> None:
    assert run(bank, "rollback", "alpha", "--to", "1", *missing).exit_code == 2


def by_hand(bank: SkillBank, *arguments: str, text: str = "By hand.\n") -> Result:
    words = ["skills", "patch", "alpha", "one", "-", "--description", "one more line", *arguments]
    return CliRunner().invoke(app, [*words, *WHO, "--bank", str(bank.path)], input=text)


def test_a_person_edits_a_section_as_a_patch_and_takes_it_out_again(bank: SkillBank) -> None:
    dry = by_hand(bank, "--dry-run")
    assert "+By hand." in dry.output
    assert len(bank.manifest(bank.ref("alpha")).active) == 1
    done = by_hand(bank)
    assert done.exit_code == 0
    held = bank.manifest(bank.ref("alpha")).active[1]
    (decision, adoption) = ledger_of(bank.path).records()
    assert isinstance(decision, DecisionRecord)
    assert (decision.override, decision.gate_verdict, decision.by) == (True, None, "Ada")
    assert isinstance(adoption, AdoptionRecord)
    undo = next(line.removeprefix("undo: ") for line in done.output.splitlines() if line.startswith("undo"))
    assert undo == f"agent-evo skills rollback {held} --by NAME --reason TEXT"
    assert run(bank, "rollback", held, *WHO).exit_code == 0
    assert bank.section("alpha", "one") == "First.\n\nMore.\n"


def test_an_edit_that_the_bank_refuses_leaves_no_record(bank: SkillBank) -> None:
    assert "brings in links" in str(by_hand(bank, text="See https://example.org\n").exception)
    assert "no section 'nine'" in str(
        CliRunner()
        .invoke(
            app,
            ["skills", "patch", "alpha", "nine", "-", "--description", "x", *WHO, "--bank", str(bank.path)],
        )
        .exception
    )
    file = bank.path / "bank.yaml"
    file.write_text(file.read_text().replace("true", "false"))
    assert "takes no patches" in str(by_hand(bank).exception)
    assert not (bank.path / "decisions.jsonl").exists()


def test_every_action_is_offered(bank: SkillBank) -> None:
    for action in ("prepend", "insert_after", "replace"):
        document = json.loads(by_hand(bank, "--action", action, "--json", text=f"{action}.\n").output)
        assert document["patch"] == bank.manifest(bank.ref("alpha")).active[-1]
    assert bank.section("alpha", "one") == "replace.\n"


def test_schemas_are_written_where_one_says(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["skills", "schemas", str(tmp_path / "schemas")])
    assert result.output.count("wrote ") == 5
    assert (
        json.loads((tmp_path / "schemas/bank.schema.json").read_text())["title"]
        == "bank.yaml of a skill bank"
    )
