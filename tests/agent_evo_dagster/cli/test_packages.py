"""The commands on packages: what they freeze, print and return, from `agent-evo` and from compile.py."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agent_evo_dagster.cli.main import app
from agent_evo_dagster.cli.package_requests import decider
from agent_evo_dagster.errors import DecisionError, RoundError, SkillBankError
from agent_evo_dagster.rounds.archive import parse_rounds
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.registry import read_registry
from tests.agent_evo_dagster.skills.banks import bank_at, put
from tests.agent_evo_dagster.skills.packages.lives import MORE, adopted, decided, freeze, proved

ROOT = Path(__file__).parents[3]
ADA = ["--by", "Ada", "--reason", "a test"]
TRIED = "experimental/maths/v1"


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SkillBank:
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path / "home"))
    return bank_at(tmp_path, "alpha", "beta")


def run(bank: SkillBank, *arguments: str) -> Result:
    return CliRunner().invoke(
        app, ["skills", "packages", *arguments, "--bank", str(bank.path)], env={"COLUMNS": "200"}
    )


def everything(bank: SkillBank) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(bank.project.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("command", ["verify", "show"])
def test_what_is_no_task_package_is_refused_with_what_to_do(bank: SkillBank, command: str) -> None:
    done = CliRunner().invoke(app, ["task-package", command, "banana", "--bank", str(bank.path)])
    assert isinstance(done.exception, SkillBankError)
    said = str(done.exception)
    assert "'banana' was asked for, and there is none" in said
    assert "agent-evo task-package list" in said and "task-package freeze ROUND" in said


def test_a_bank_goes_through_its_whole_life_by_commands(bank: SkillBank) -> None:
    assert "no packages yet. Freeze the bank:" in run(bank, "list").output
    done = run(bank, "freeze", "stable", "v1", *ADA)
    assert done.output.splitlines() == [
        "froze stable/v1",
        "stable/v1 is now current for stable; before: nothing",
    ]
    adopted(bank)
    tried = run(bank, "freeze", "experimental", "v1", "--domain", "maths", *ADA)
    assert tried.output == "froze experimental/maths/v1, from stable/v1\n"
    review = run(bank, "review", TRIED)
    assert (review.exit_code, MORE.id in review.output) == (0, True)
    assert "differs from its parent in: alpha" in review.output
    assert "is now current for vertical/maths" in run(bank, "promote", TRIED, *ADA).output
    assert run(bank, "select", "--domain", "maths").output == "vertical/maths/v1\n"
    assert run(bank, "select").output == "stable/v1\n"
    listed = run(bank, "list").output
    assert listed.count("current") == 2
    assert "rollback" not in run(bank, "history").output
    back = run(bank, "rollback", "vertical/maths", *ADA)
    assert "vertical/maths: nothing is current; before: vertical/maths/v1" in back.output
    assert "undo: agent-evo skills packages rollback vertical/maths" in back.output
    assert run(bank, "select", "--domain", "maths").output == "stable/v1\n"
    assert "vertical/maths/v1 is current" in run(bank, "use", "vertical/maths/v1", *ADA).output
    assert "nothing to do" in run(bank, "use", "vertical/maths/v1", *ADA).output
    assert run(bank, "history").output.count("Ada") == 4
    assert run(bank, "validate").output == "3 packages are as they were frozen\n"
    assert run(bank, "smoke-test").output.count("is usable") == 3


def test_a_package_without_evidence_is_reviewed_with_1_and_not_promoted(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    freeze(adopted(bank, gate=None), TRIED)
    review = run(bank, "review", TRIED)
    assert review.exit_code == 1
    assert (
        f"missing: {MORE.id} (alpha): policy:auto approved it, but the gate has not judged it"
        in review.output
    )
    assert run(bank, "review", "stable/v1").exit_code == 0
    before = everything(bank)
    refused = run(bank, "promote", TRIED, *ADA)
    assert isinstance(refused.exception, SkillBankError)
    assert everything(bank) == before


def test_dry_runs_write_nothing(bank: SkillBank) -> None:
    bank = proved(bank)
    freeze(bank, "stable/v2")
    before = everything(bank)
    for arguments in (
        ["freeze", "stable", "v3", *ADA],
        ["freeze", "experimental", "v2", "--domain", "maths", "--from-package", "stable/v1", *ADA],
        ["promote", TRIED, "--name", "v2", *ADA],
        ["use", "stable/v1", *ADA],
        ["rollback", "stable", *ADA],
        ["install", str(bank.project / "elsewhere")],
    ):
        done = run(bank, *arguments, "--dry-run")
        assert (done.exit_code, "would" in done.output) == (0, True), done.output
    assert everything(bank) == before


def test_the_skills_of_a_package_are_written_to_a_project_and_nothing_else_is_overwritten(
    bank: SkillBank,
) -> None:
    bank = proved(bank)
    project = bank.project / "elsewhere"
    assert "2 files of vertical/maths/v1" in run(bank, "install", str(project), "--domain", "maths").output
    skill = project / ".claude/skills/alpha/SKILL.md"
    assert "More." in skill.read_text()
    again = run(bank, "install", str(project), "--package", "vertical/maths/v1")
    assert again.output == f"{project} has the skills of vertical/maths/v1\n"
    refused = run(bank, "install", str(project))
    assert "holds something else (1 files do)" in str(refused.exception)
    assert "More." in skill.read_text()


def test_every_command_prints_one_document(bank: SkillBank) -> None:
    def document(*arguments: str, code: int = 0) -> dict[str, object]:
        result = run(bank, *arguments, "--json")
        assert result.exit_code == code, result.output
        found = json.loads(result.output)
        assert isinstance(found, dict)
        return found

    assert document("freeze", "stable", "v1", *ADA)["slot"] == "stable"
    adopted(bank, gate=None)
    assert document("freeze", "experimental", "v1", "--domain", "maths", *ADA)["changed"] == ["alpha"]
    assert document("review", TRIED, code=1)["ready"] is False
    assert document("list")["current"] == {"stable": "stable/v1"}
    assert document("select")["package"] == "stable/v1"
    assert document("use", "stable/v1", *ADA)["switch"] is None
    assert document("install", str(bank.project / "x"), "--dry-run")["package"] == "stable/v1"
    assert document("rollback", "stable", *ADA)["dry_run"] is False
    assert document("validate")["problems"] == []
    assert document("smoke-test", TRIED)["packages"] == {TRIED: []}
    assert len(json.loads(run(bank, "history", "--json").output)) == 2


def test_a_changed_package_fails_the_checks_of_ci(bank: SkillBank) -> None:
    path = freeze(bank, "stable/v1").path / "skills/rllm/alpha/SKILL.md"
    path.write_text("x")
    for arguments in (["validate"], ["smoke-test"], ["smoke-test", "stable/v1"]):
        done = run(bank, *arguments)
        assert (done.exit_code, "was damaged: skills/rllm/alpha/SKILL.md was changed" in done.output) == (
            1,
            True,
        )
    done = CliRunner().invoke(app, ["skills", "validate", "--bank", str(bank.path), "--json"])
    assert (done.exit_code, json.loads(done.output)["valid"]) == (1, False)


@pytest.fixture(scope="module")
def script() -> Callable[..., int]:
    """The script's `main`, loaded from where it lies."""
    spec = importlib.util.spec_from_file_location("bank_compile_packages", ROOT / "skill_bank/compile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    main: Callable[[list[str]], int] = module.main
    return lambda bank, *arguments: main([*arguments, "--bank", str(bank.path)])


def test_the_script_offers_the_same(
    bank: SkillBank, script: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: str) -> tuple[int, str]:
        return script(bank, *arguments), capsys.readouterr().out

    assert said("--package", "stable", "--name", "v1", "--dry-run")[1].startswith("would freeze stable/v1")
    assert not (bank.path / "packages").exists()
    assert said("--package", "stable", "--name", "v1", "--by", "Ada")[0] == 0
    adopted(bank, gate=None)
    experimental = ("--package", "experimental", "--name", "v1", "--domain", "maths", "--by", "Ada")
    assert said(*experimental)[0] == 0
    vertical = ("--package", "vertical", "--name", "v1", "--domain", "maths", "--from-package", TRIED)
    code, told = said(*vertical, "--by", "Ada", "--review")
    assert (code, "missing: " in told) == (1, True)
    assert said(*vertical, "--by", "Ada")[0] == 1
    assert said("--promote", TRIED, "--review", "--by", "Ada", "--json")[0] == 1
    assert said("--list-packages")[1].count("current") == 1
    assert said("--smoke-test")[1].count("is usable") == 2
    assert said("--smoke-test", "--package-id", "stable/v1") == (0, "stable/v1 is usable\n")
    assert said("--validate")[1].endswith("2 skills are valid\n")
    assert read_registry(bank.path).history[0].by == "Ada"


def test_the_script_promotes_what_has_evidence(bank: SkillBank, script: Callable[..., int]) -> None:
    freeze(bank, "stable/v1")
    freeze(adopted(bank), TRIED)
    assert script(bank, "--promote", TRIED, "--by", "Ada") == 0
    assert read_registry(bank.path).current["vertical/maths"] == "vertical/maths/v1"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--package", "stable"], "needs a name: --name N"),
        (["--package", "stable", "--name", "../x"], "package name '../x'"),
        (
            ["--package", "stable", "--name", "v1", "--run-id", "r"],
            "are for a task-package; this is a stable",
        ),
        (["--package", "vertical", "--name", "v1", "--round", "1"], "are for a lineage-archive"),
        (["--package", "lineage-archive", "--name", "v1", "--domain", "d"], "are for packages of skills"),
        (["--package", "lineage-archive", "--name", "v1"], "say which rounds to archive"),
        (["--package", "task-package", "--name", "v1"], "Say which run"),
        (["--package", "experimental", "--name", "v1"], "belongs to a domain; give --domain"),
        (["--promote", "stable/v1"], "only an experimental package is promoted"),
        (["--smoke-test", "--package-id", "stable/v9"], "no package 'stable/v9' is registered"),
    ],
)
def test_the_script_says_what_is_missing_or_does_not_belong(
    bank: SkillBank,
    script: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    assert script(bank, *arguments) == 1
    assert told in capsys.readouterr().err
    assert not (bank.path / "registry.json").exists()


def test_an_account_without_a_name_must_give_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("uid 1234")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert decider("Ada") == "Ada"
    with pytest.raises(DecisionError, match="give --by NAME"):
        decider(None)


@pytest.mark.parametrize("text", ["", "a", "1-", "3-1", "1,,2", "0", "1-99999999", "-1"])
def test_rounds_are_numbers_or_a_range(text: str) -> None:
    with pytest.raises(RoundError):
        parse_rounds(text)


def test_rounds_are_put_in_order_once() -> None:
    assert parse_rounds("10,9,9") == ["round-0009", "round-0010"]
    assert parse_rounds("9-10") == ["round-0009", "round-0010"]


def test_a_decision_that_comes_later_is_seen_by_the_next_review(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    freeze(put(bank, MORE), TRIED)
    assert run(bank, "review", TRIED).exit_code == 1
    decided(bank)
    assert run(bank, "review", TRIED).exit_code == 0
