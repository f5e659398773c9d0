"""The registry never contradicts itself, whatever is done to it, and every switch can be undone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.records import PackageRecord
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.check import Checked, check_packages
from agent_evo_dagster.skills.packages.ids import Kind, PackageId, parse_id
from agent_evo_dagster.skills.packages.registry import (
    Registry,
    previous,
    read_registry,
    with_package,
    with_switch,
)
from agent_evo_dagster.skills.packages.use import Mover, roll_back, select, use
from tests.agent_evo_dagster.skills.banks import bank_at
from tests.agent_evo_dagster.skills.packages.lives import AT, freeze, proved

ROOT = Path(__file__).parents[4]
BOB = Mover("Bob", "for a test", AT)
NAMES = ["stable/v1", "stable/v2", "vertical/maths/v1", "vertical/law/v1", "experimental/law/v1"]


@pytest.fixture
def bank(tmp_path: Path) -> SkillBank:
    return bank_at(tmp_path, "alpha")


def registry_of(*names: str) -> Registry:
    registry = Registry()
    for name in names:
        registry = with_package(registry, parse_id(name), "0" * 64, parent=None)
    return registry


def switched(registry: Registry, slot: str, after: str | None) -> Registry:
    return with_switch(registry, slot, after, "use", by="Ada", reason="a test", at=AT)


@given(st.lists(st.tuples(st.sampled_from(["stable", "vertical/maths"]), st.sampled_from([*NAMES, None]))))
def test_no_sequence_of_switches_makes_it_contradict_itself(moves: list[tuple[str, str | None]]) -> None:
    registry, expected = registry_of(*NAMES), dict[str, str]()
    for slot, after in moves:
        try:
            registry = switched(registry, slot, after)
        except SkillBankError:
            assert after is not None
            continue
        expected = (
            {**expected, slot: str(after)} if after else {k: v for k, v in expected.items() if k != slot}
        )
        assert after is None or after.startswith(slot)
    assert registry.current == expected
    assert Registry.model_validate_json(registry.model_dump_json()) == registry


@given(st.text(max_size=12), st.text(max_size=12))
def test_a_name_is_a_plain_part_of_a_path_or_refused(name: str, domain: str) -> None:
    try:
        made = PackageId(Kind.VERTICAL, name, domain)
    except SkillBankError:
        return
    assert parse_id(str(made)) == made
    assert made.path(Path("/bank")).parts == ("/", "bank", "packages", "vertical", domain, name)
    assert {".", ".."}.isdisjoint(made.path(Path("/bank")).parts)


@pytest.mark.parametrize(
    "name",
    ["", "stable", "stable/a/b", "vertical/x", "../stable/x", "stable/..", "Stable/x", "stable/" + "x" * 200],
)
def test_what_is_no_package_is_refused_with_the_forms(name: str) -> None:
    with pytest.raises(SkillBankError, match=r"is not a package; write|package name"):
        parse_id(name)


def test_a_new_task_takes_its_domain_else_stable_and_nothing_else_unasked() -> None:
    registry = registry_of(*NAMES, "task-packages/t", "lineage-archive/l")
    with pytest.raises(SkillBankError, match="no package is current"):
        select(registry, domain="maths")
    registry = switched(registry, "vertical/maths", "vertical/maths/v1")
    assert str(select(registry, domain="maths")) == "vertical/maths/v1"
    with pytest.raises(SkillBankError, match="no package is current"):
        select(registry, domain="law")
    registry = switched(registry, "stable", "stable/v1")
    chosen = {domain: str(select(registry, domain=domain)) for domain in ("maths", "law", None)}
    assert chosen == {"maths": "vertical/maths/v1", "law": "stable/v1", None: "stable/v1"}
    for name in ("task-packages/t", "lineage-archive/l", "experimental/law/v1"):
        assert str(select(registry, asked=name)) == name
    with pytest.raises(SkillBankError, match="no package 'stable/v9' is registered"):
        select(registry, asked="stable/v9")


def test_a_switch_is_rolled_back_on_record_and_so_is_that(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    freeze(bank, "stable/v2")
    first = roll_back(bank.path, "stable", BOB)
    assert first is not None
    assert (first.before, first.after, first.by) == ("stable/v2", "stable/v1", "Bob")
    assert read_registry(bank.path).current == {"stable": "stable/v1"}
    roll_back(bank.path, "stable", BOB)
    assert read_registry(bank.path).current == {"stable": "stable/v2"}
    use(bank.path, parse_id("stable/v1"), BOB)
    assert use(bank.path, parse_id("stable/v1"), BOB) is None
    records = [record for record in ledger_of(bank.path).records() if isinstance(record, PackageRecord)]
    assert [(record.action, record.after) for record in records] == [
        ("freeze", "stable/v1"),
        ("freeze", "stable/v2"),
        ("rollback", "stable/v1"),
        ("rollback", "stable/v2"),
        ("use", "stable/v1"),
    ]
    assert check_packages(bank.path).problems == ()


def test_the_first_switch_is_rolled_back_to_nothing(bank: SkillBank) -> None:
    bank = proved(bank)
    assert roll_back(bank.path, "vertical/maths", BOB) is not None
    registry = read_registry(bank.path)
    assert registry.current == {"stable": "stable/v1"}
    assert str(select(registry, domain="maths")) == "stable/v1"
    assert previous(registry, "vertical/maths") == "vertical/maths/v1"
    with pytest.raises(SkillBankError, match="nothing was ever current in 'vertical/law'"):
        roll_back(bank.path, "vertical/law", BOB)


def test_a_dry_run_of_a_switch_writes_nothing(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    freeze(bank, "stable/v2")
    before = (bank.path / "registry.json").read_bytes()
    moved = roll_back(bank.path, "stable", Mover("Bob", "look", AT, dry_run=True))
    assert moved is not None
    assert (bank.path / "registry.json").read_bytes() == before


def test_no_switch_to_what_is_damaged_or_cannot_be_current(bank: SkillBank) -> None:
    bank = proved(bank)
    freeze(bank, "stable/v2")
    with pytest.raises(SkillBankError, match=r"cannot be current.*promote experimental/maths/v1"):
        use(bank.path, parse_id("experimental/maths/v1"), BOB)
    (bank.path / "packages/stable/v1/skills/rllm/alpha/SKILL.md").write_text("x")
    for move in (
        lambda: use(bank.path, parse_id("stable/v1"), BOB),
        lambda: roll_back(bank.path, "stable", BOB),
    ):
        with pytest.raises(SkillBankError, match="was damaged"):
            move()
    assert read_registry(bank.path).current["stable"] == "stable/v2"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"schema_version": 1', '"schema_version": 2'),
        ('"stable": "stable/v1"', '"stable": "stable/v9"'),
        ('"vertical/maths": "vertical/maths/v1"', '"vertical/maths": "stable/v1"'),
        ('"kind": "stable"', '"kind": "vertical"'),
        ('"by": "Ada"', '"by": ""'),
        ('"parent": "stable/v1"', '"parent": "stable/v0"'),
        ("{", "["),
    ],
)
def test_a_registry_edited_by_hand_is_not_used(bank: SkillBank, old: str, new: str) -> None:
    bank = proved(bank)
    path = bank.path / "registry.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(SkillBankError, match=r"registry\.json cannot be used: .*restore it"):
        read_registry(bank.path)
    assert len(check_packages(bank.path).problems) == 1


def test_a_registry_that_was_cut_or_deleted_or_says_otherwise_is_found(bank: SkillBank) -> None:
    bank = proved(bank)
    path = bank.path / "registry.json"
    held = json.loads(path.read_text())
    held["history"][-1]["reason"] = "another"
    path.write_text(json.dumps(held))
    assert "that are not the last ones on record" in check_packages(bank.path).problems[0]
    del held["history"][-1], held["current"]["vertical/maths"]
    path.write_text(json.dumps(held))
    assert "that are not the last ones on record" in check_packages(bank.path).problems[0]
    path.unlink()
    checked = check_packages(bank.path)
    assert "was deleted: 2 switches are on record" in checked.problems[0]
    assert len(checked.warnings) == 3


def test_switches_of_processes_at_the_same_time_leave_one_record(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    freeze(bank, "stable/v2")
    code = (
        "import sys; from pathlib import Path; from datetime import datetime, UTC\n"
        "from agent_evo_dagster.skills.packages.use import Mover, roll_back\n"
        "for turn in range(10):\n"
        "    roll_back(Path(sys.argv[1]), 'stable', Mover(sys.argv[2], f'turn {turn}', datetime.now(UTC)))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(bank.path), who]) for who in ("Ada", "Bob", "Cleo")
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    registry = read_registry(bank.path)
    assert len(registry.history) == 2 + 30
    assert check_packages(bank.path).problems == ()
    assert registry.current == {"stable": "stable/v2"}  # thirty times there and back


def test_processes_that_freeze_at_the_same_time_leave_one_package_of_a_name_and_every_other(
    bank: SkillBank,
) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from agent_evo_dagster.errors import SkillBankError\n"
        "from agent_evo_dagster.skills.bank import SkillBank\n"
        "from tests.agent_evo_dagster.skills.packages.lives import freeze\n"
        "for name in ('same', sys.argv[2], 'again'):\n"
        "    try:\n"
        "        freeze(SkillBank.open(Path(sys.argv[1])), f'stable/{name}')\n"
        "        print(name)\n"
        "    except SkillBankError as error:\n"
        "        assert 'exists' in str(error), error\n"
    )
    command = [sys.executable, "-c", code, str(bank.path)]
    running = [
        subprocess.Popen([*command, who], cwd=ROOT, stdout=subprocess.PIPE, text=True) for who in "abc"
    ]
    made = sorted(word for process in running for word in process.communicate()[0].split())
    assert made == ["a", "again", "b", "c", "same"]
    registry = read_registry(bank.path)
    assert len(registry.packages) == len(registry.history) == 5
    assert check_packages(bank.path) == Checked(5, (), ())
    assert [path.name for path in (bank.path / "packages").rglob(".staging-*")] == []


def test_a_switch_goes_on_from_what_is_current_and_to_the_package_of_that_hash() -> None:
    held = switched(registry_of("stable/v1"), "stable", "stable/v1").model_dump(mode="json")
    for field, value, why in (("before", "stable/v0", "goes on from"), ("sha256", "1" * 64, "another hash")):
        changed = {**held, "history": [{**held["history"][0], field: value}]}
        with pytest.raises(ValidationError, match=why):
            Registry.model_validate(changed)


def test_a_package_that_was_exchanged_together_with_its_hash_in_the_registry_is_found(
    bank: SkillBank,
) -> None:
    bank = proved(bank)
    path = bank.path / "registry.json"
    index = bank.path / "packages/stable/v1/package.json"
    then = sha256_file(index)
    index.write_text(index.read_text() + "\n")
    path.write_text(path.read_text().replace(then, sha256_file(index)))
    assert "that are not the last ones on record" in check_packages(bank.path).problems[0]
