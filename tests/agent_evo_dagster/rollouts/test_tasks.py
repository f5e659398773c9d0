"""Tasks are files that people write: read strictly, and the gate uses those of one split alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import EvaluationError, TaskError
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.rollouts.tasks import Check, Task, frozen, hash_of, of_the_judge, read_task, read_tasks
from tests.agent_evo_dagster.rollouts.material import tasks

WHOLE = """
id: mend-the-sum
prompt: The script prints the wrong sum. Mend it.
files:
  src/sum.py: |
    print(1 + 1)
allow: ["Bash(python3 *)"]
check:
  command: test "$(python3 src/sum.py)" = 3
  seconds: 5
  files: {expected.txt: "3"}
limits: {turns: 8, seconds: 60, money: 0.1}
"""


def read(tmp_path, text, name="mend-the-sum"):
    (tmp_path / f"{name}.yaml").write_text(text)
    return read_task(tmp_path / f"{name}.yaml")


def test_a_task_is_read_with_files_check_permissions_and_limits(tmp_path):
    task = read(tmp_path, WHOLE)
    assert (task.id, task.check.seconds, task.check.exit) == ("mend-the-sum", 5.0, 0)
    assert (task.files, task.allow) == ({"src/sum.py": "print(1 + 1)\n"}, ("Bash(python3 *)",))
    assert (task.limits.turns, task.limits.money) == (8, 0.1)
    assert "print(1 + 1)\n" in task.texts and "3" in task.texts


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("id: mend-the-sum", "id: Mend It"), "id: "),
        (("id: mend-the-sum", "id: another"), "Name the file another.yaml"),
        (("seconds: 5", "seconds: 0"), "check.seconds"),
        (("seconds: 5", "seconds: .nan"), "check.seconds"),
        (("limits:", "answer: 3 apples\nlimits:"), "give either check or answer"),
        (("src/sum.py", "../sum.py"), "no relative path"),
        (("src/sum.py", "/etc/passwd"), "no relative path"),
        (("src/sum.py", "src//sum.py"), "no relative path"),
        (("src/sum.py", ".claude/settings.json"), "cannot be a file of a task"),
        (("src/sum.py", "CLAUDE.md"), "cannot be a file of a task"),
        (("limits:", "surprise: 1\nlimits:"), "surprise"),
        (("prompt:", "id: twice\nprompt:"), "given twice"),
    ],
)
def test_a_task_that_is_not_well_formed_is_refused_with_the_reason(tmp_path, change, said):
    with pytest.raises(TaskError, match=said):
        read(tmp_path, WHOLE.replace(*change))


def test_the_tasks_of_a_skill_are_read_by_id_or_none_is(tmp_path):
    assert read_tasks(tmp_path, "alpha") == []
    (tmp_path / "alpha").mkdir()
    for name in ("b", "a"):
        (tmp_path / "alpha" / f"{name}.yaml").write_text(f"id: {name}\nprompt: Do it.\nanswer: done\n")
    assert [task.id for task in read_tasks(tmp_path, "alpha")] == ["a", "b"]
    (tmp_path / "alpha" / "c.yaml").write_text("id: c\n")
    with pytest.raises(TaskError, match=r"c\.yaml is no task"):
        read_tasks(tmp_path, "alpha")


def test_only_tasks_of_the_judges_split_are_for_the_gate():
    mixed = [Task(id=f"t-{n}", prompt="p", answer="a") for n in range(60)]
    kept = of_the_judge(mixed)
    assert 0 < len(kept) < 20 and {split_of(task.id) for task in kept} == {"judge"}


def test_a_round_keeps_the_tasks_that_it_used(tmp_path):
    used = tasks(3)
    assert frozen(used, tmp_path / "alpha.jsonl") == used
    assert frozen([], tmp_path / "alpha.jsonl") == used  # whatever the bank holds by now
    (tmp_path / "alpha.jsonl").write_text("{")
    with pytest.raises(TaskError, match=r"alpha\.jsonl.*Delete it"):
        frozen(used, tmp_path / "alpha.jsonl")


def test_a_task_of_another_split_is_not_kept(tmp_path):
    stray = next(
        Task(id=f"t-{n}", prompt="p", answer="a") for n in range(60) if split_of(f"t-{n}") == "train"
    )
    with pytest.raises(EvaluationError, match="train"):
        frozen([stray], tmp_path / "alpha.jsonl")
    assert not (tmp_path / "alpha.jsonl").exists()


def test_the_hash_of_tasks_tells_any_change():
    first = tasks(3)
    assert hash_of(first) == hash_of(tasks(3))
    assert hash_of([first[0].model_copy(update={"answer": "no"}), *first[1:]]) != hash_of(first)


@given(st.text(max_size=40))
def test_no_path_of_a_file_leaves_its_folder(name):
    try:
        check = Check(command="true", files={name: ""})
    except ValueError:
        return
    (path,) = check.files
    parts = path.split("/")
    assert not path.startswith("/") and ".." not in parts and "" not in parts and "." not in parts
