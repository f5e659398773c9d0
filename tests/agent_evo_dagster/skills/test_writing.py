"""With nothing to do nothing is written, and whatever could change a byte is noticed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.skills import writing
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_all
from agent_evo_dagster.skills.writing import COMPILER, STAMP, write_skills
from tests.agent_evo_dagster.skills.banks import bank_at, patch, put

NAMES = ["alpha", "beta"]
MORE = patch("First.\n", "More.\n", action="insert_after")


@pytest.fixture
def bank(tmp_path: Path) -> SkillBank:
    made = put(bank_at(tmp_path, *NAMES), MORE)
    write_skills(made, NAMES)
    return made


def times(bank: SkillBank) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in sorted(bank.project.rglob("*"))}


def test_nothing_is_parsed_or_written_when_there_is_nothing_to_do(
    bank: SkillBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = times(bank)
    monkeypatch.setattr(writing, "compile_many", None)
    assert write_skills(bank, NAMES) == writing.WriteReport((), ())
    assert times(bank) == before


def edited(name: str, old: str = "First.", new: str = "Second.") -> Callable[[SkillBank], object]:
    def edit(bank: SkillBank) -> None:
        path = bank.path / name
        path.write_text(path.read_text().replace(old, new))

    return edit


@pytest.mark.parametrize(
    "change",
    [
        edited("rllm/beta/base.md"),
        edited("rllm/alpha/manifest.yaml", MORE.id, ""),
        edited("bank.yaml", "true", "false"),
        lambda bank: (bank.path / "rllm/alpha/patches/new.md").write_text("draft"),
        lambda bank: (bank.project / bank.ref("alpha").output).unlink(),
        lambda bank: (bank.path / STAMP).write_text("{}"),
        lambda bank: (bank.path / STAMP).write_text(
            (bank.path / STAMP).read_text().replace(f":{COMPILER}", ":0")
        ),
    ],
)
def test_whatever_could_change_a_byte_is_compiled_again(
    bank: SkillBank, change: Callable[[SkillBank], object]
) -> None:
    change(bank)
    assert len(write_skills(bank, NAMES).compiled) == 2
    assert write_skills(bank, NAMES).compiled == ()


def test_an_edited_output_is_still_refused(bank: SkillBank) -> None:
    (bank.project / bank.ref("alpha").output).write_text("by hand")
    with pytest.raises(SkillBankError, match="edited by hand"):
        write_skills(bank, NAMES)


def test_an_adoption_is_not_hidden_by_the_stamp(bank: SkillBank) -> None:
    adopt(bank, [patch("First.\n", "Else.\n", skill="beta")])
    assert len(write_skills(bank, NAMES).compiled) == 2
    assert write_skills(bank, NAMES).compiled == ()


def test_the_compiled_bytes_are_those_of_this_compiler(tmp_path: Path) -> None:
    """An older stamp must not hide new bytes: where this fails, raise writing.COMPILER as well."""
    items = [
        patch("First.\n", "Before.\n", action="prepend"),
        patch("Before.\n\nFirst.\n", "After.\n", action="insert_after"),
        patch("Before.\n\nFirst.\n", "Instead.\n", action="replace"),
        patch("Instead.\n", "Last.\n"),
    ]
    (skill,) = compile_all(put(bank_at(tmp_path), *items))
    assert (COMPILER, skill.sha256[:16]) == (2, "3e6aaaccc6b92063")
