"""Prose of a skill with tasks is tried with the bank as the round read it, and without them is not."""

import pytest

from agent_evo_dagster.errors import GateError, SettingsError, TaskError
from agent_evo_dagster.patches.examiners import examine
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.types import GateVerdict
from agent_evo_dagster.rollouts import self_test
from agent_evo_dagster.rollouts.examiner import Material, RolloutExaminer
from tests.agent_evo_dagster.patches.material import judge_tasks
from tests.agent_evo_dagster.rollouts.material import ENOUGH, Scripted, attempt, written
from tests.agent_evo_dagster.skills.banks import bank_at, patch

ADVICE = "Say yes.\n"


@pytest.fixture
def bank(tmp_path):
    return bank_at(tmp_path, "alpha", "beta")


@pytest.fixture
def examiner(tmp_path, bank):
    def make(reader=None, number=20, **options):
        if number:
            written(bank.path / "tasks", "alpha", number)
        material = Material(bank, bank.path / "tasks", "round-0001", tmp_path / "kept", tmp_path / "records")
        chosen = reader or Scripted(lambda _, text: attempt(ADVICE in text))
        return RolloutExaminer(chosen, ENOUGH, material, **options)

    return make


def case(bank, skill="alpha", **more):
    base = bank.section(skill, "one")
    return Case(patch(base, ADVICE, skill=skill, **more), None, base)


def test_both_texts_are_compiled_and_what_helps_is_accepted(examiner, bank):
    told = []
    (judge,), (run,) = examine([case(bank)], [examiner()], {"alpha"}, told.append)
    evidence = judge.judge(case(bank))
    assert (evidence.verdict, evidence.measured.difference) == (GateVerdict.ACCEPT, 1.0)
    assert (evidence.rollout.tasks, evidence.rollout.samples) == (20, 6)
    assert (run.judge, run.engine, run.model, run.calls, run.cost_usd) == (
        "rollout",
        "scripted 1",
        "m",
        240,
        2.4,
    )
    assert "20 tasks x 6 x 2 sides = 240 rollouts, at most 240.00 USD" in told[0] and "10 USD" in run.estimate


def test_tasks_of_another_split_are_left(examiner, bank, tmp_path):
    reader = Scripted()
    made = examiner(reader)
    (bank.path / "tasks" / "alpha" / "stray.yaml").write_text("id: stray\nprompt: p\nanswer: yes please\n")
    made.examine([case(bank)], lambda _: None)
    assert {task for task, _ in reader.given} == set(judge_tasks(20))


@pytest.mark.parametrize("number", [0, 19])
def test_a_skill_with_too_few_tasks_is_left_to_the_next_judge(examiner, bank, number):
    assert not examiner(number=number).takes(case(bank))


def test_settings_and_skills_without_tasks_are_left(examiner, bank):
    made = examiner()
    assert made.takes(case(bank)) and not made.takes(case(bank, "beta"))
    assert not made.takes(Case(case(bank).patch, {"learning_rate": (1e-5, 1e-4)}, case(bank).base))


def test_tasks_that_the_reader_cannot_do_do_not_count(examiner, bank):
    made = examiner()
    for name in judge_tasks(5):
        path = bank.path / "tasks" / "alpha" / f"{name}.yaml"
        path.write_text(f"id: {name}\nprompt: p\ncheck: {{command: 'true'}}\n")
    assert not made.takes(case(bank))


def test_a_round_made_again_tries_the_tasks_that_it_tried(examiner, bank):
    made = examiner()
    first, _ = made.examine([case(bank)], lambda _: None)
    name = judge_tasks(1)[0]
    (bank.path / "tasks" / "alpha" / f"{name}.yaml").unlink()
    reader = Scripted()
    again, run = examiner(reader, number=0).examine([case(bank)], lambda _: None)
    assert again.judge(case(bank)) == first.judge(case(bank)) and reader.given == [] and run.calls == 0


def test_a_task_that_is_not_well_formed_is_an_error_and_no_other_judge_steps_in(examiner, bank):
    made = examiner()
    (bank.path / "tasks" / "alpha" / "broken.yaml").write_text("id: broken\n")
    with pytest.raises(TaskError, match=r"broken\.yaml"):
        made.takes(case(bank))


def test_fewer_samples_than_can_show_a_regression_are_refused_before_anything_is_spent(examiner, bank):
    reader = Scripted()
    with pytest.raises(SettingsError, match=r"AGENT_EVO_ROLLOUT_SAMPLES=5.*6 are needed"):
        examine([case(bank)], [examiner(reader, samples=5)], {"alpha"}, lambda _: None)
    assert (reader.given, reader.readied) == ([], 0)


def test_a_judge_that_fails_its_own_test_spends_nothing(examiner, bank, monkeypatch):
    monkeypatch.setattr(self_test, "passes", lambda *_: True)
    reader = Scripted()
    with pytest.raises(GateError, match="fails its own test"):
        examiner(reader).examine([case(bank)], lambda _: None)
    assert reader.given == []


def test_two_patches_of_a_skill_share_the_rollouts_without_them(examiner, bank):
    reader = Scripted(lambda _, text: attempt(ADVICE in text))
    base = bank.section("alpha", "one")
    other = Case(patch(base, "Say no.\n"), None, base)
    judge, _ = examiner(reader).examine([case(bank), other], lambda _: None)
    assert len(reader.given) == 360
    assert judge.judge(case(bank)).verdict is GateVerdict.ACCEPT
    assert judge.judge(other).verdict is GateVerdict.REJECT
