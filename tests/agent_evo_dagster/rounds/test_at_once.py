"""Two people who decide at once, by any two ways, leave one record that is consistent."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.records import ConsentRecord, DecisionRecord
from agent_evo_dagster.skills.bank import SkillBank, create_bank
from tests.agent_evo_dagster.cli.test_patches import a_round, good
from tests.agent_evo_dagster.rounds.deciders import WAYS, Deciders, Turn, check_one_decision, deciders, fresh
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK

SECTION = ("rllm-config", "optimisation")
PAIRS = list(product(WAYS, ("command", "file", "launchpad")))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    create_bank(DEFAULT_BANK, home / "skill_bank")
    return home


@pytest.fixture(scope="module")
def patches(home: Path) -> tuple[str, str]:
    """Two patches of one section as it is, of two rounds, accepted by the gate."""
    sections = {SECTION: SkillBank.open(home / "skill_bank").section(*SECTION)}
    first, second = (
        a_round(home, ledger_of(home / "skill_bank"), key, setting, rows=good(), sections=sections)
        for key, setting in (("round-0001", "learning_rate"), ("round-0002", "max_steps"))
    )
    return first, second


@pytest.fixture(scope="module")
def people(home: Path) -> Iterator[Deciders]:
    with deciders(home) as found:
        yield found


@pytest.fixture
def ledger(home: Path) -> Ledger:
    return ledger_of(home / "skill_bank")


def opposed(home: Path, people: Deciders, patch: str, repetitions: int) -> None:
    """One approves and one rejects, again and again, by each pair of ways."""
    winners = set()
    for number in range(repetitions):
        for first, second in PAIRS:
            fresh(home)
            name = "policy:auto" if first == "policy" else "Ada"
            turns = [Turn(first, "approve", patch, name), Turn(second, "reject", patch, "Bob")]
            check_one_decision(home, people(*(turns if number % 2 else reversed(turns))))
            winners.add(ledger_of(home / "skill_bank").records()[0].by)
    assert {"Ada", "Bob"} <= winners  # they did meet


def test_one_who_approves_and_one_who_rejects_leave_one_decision_by_every_two_ways(home, people, patches):
    opposed(home, people, patches[0], 2)


@pytest.mark.slow
def test_so_it_is_however_often_they_try(home, people, patches):
    opposed(home, people, patches[0], 60)


def test_of_two_patches_that_exclude_each_other_one_is_approved(home, people, patches, ledger):
    for _ in range(5):
        fresh(home)
        ways = zip(("command", "file"), patches, ("Ada", "Bob"), strict=True)
        answers = people(*(Turn(way, "approve", patch, name) for way, patch, name in ways))
        (record,) = ledger.records()
        (told,) = [said for turn, said in answers.items() if turn.patch != record.patch_id]
        assert "They cannot all be approved" in told


def test_where_two_must_approve_both_count_and_one_decides(home, people, patches, ledger):
    for _ in range(5):
        fresh(home)
        ways = (("command", "Ada"), ("launchpad", "Bob"))
        people(*(Turn(way, "approve", patches[0], name, "two_person") for way, name in ways))
        consent, decision = ledger.records()
        assert isinstance(consent, ConsentRecord) and isinstance(decision, DecisionRecord)
        assert {consent.by, decision.by} == {"Ada", "Bob"}
