"""Tasks are files that people write: read strictly, and the gate uses those of one split alone."""

import os

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
        (("src/sum.py", "src/.Claude/settings.json"), "cannot be a file of a task"),
        (("src/sum.py", "src/claude.md"), "cannot be a file of a task"),
        (("src/sum.py", "src/.git/config"), "cannot be a file of a task"),
        (("src/sum.py", f"src/{'é' * 128}"), "part of more than 255 bytes"),
        (("src/sum.py: |", "src: x\n  src/sum.py: |"), "'src/sum.py' and 'src' cannot both be there"),
        (("src/sum.py: |", "Src/Sum.py: x\n  src/sum.py: |"), "cannot both be there"),
        (("{expected.txt:", "{src:"), "'src/sum.py' and 'src' cannot both be there"),
        (("{expected.txt:", "{src/sum.py/x:"), "cannot both be there"),
        (("command: test", 'command: "\\0" #'), "character of value 0"),
        (("limits:", "surprise: 1\nlimits:"), "surprise"),
        (("prompt:", "id: twice\nprompt:"), "given twice"),
    ],
)
def test_a_task_that_is_not_well_formed_is_refused_with_the_reason(tmp_path, change, said):
    with pytest.raises(TaskError, match=said):
        read(tmp_path, WHOLE.replace(*change))


def test_what_a_check_puts_over_a_file_of_its_task_is_no_clash(tmp_path):
    task = read(tmp_path, WHOLE.replace("{expected.txt:", "{src/sum.py:"))
    assert task.check.files == {"src/sum.py": "3"}


@pytest.mark.parametrize("line", ["Bash", "Bash(python3 *)", "Read(./a b/**)", 'Bash(python3 -c "f(1)(2)")'])
def test_a_permission_is_a_tool_or_a_tool_with_what_it_is_for(line):
    assert Task(id="a", prompt="p", answer="x", allow=(line,)).allow == (line,)


@pytest.mark.parametrize(
    "line",
    [
        "Bash(ls *),Write",
        "Bash(python3 a,b)",
        "Read Write",
        "Bash(ls *) Write",
        "Bash(ls *)(cat *)",
        "Bash(ls",
        "Bash((ls)",
        "Bash)ls(",
        "ls)",
        "Bash()",
        "--tools",
    ],
)
def test_a_line_that_could_be_read_as_other_permissions_is_none(line):
    with pytest.raises(ValueError, match="no single permission"):
        Task(id="a", prompt="p", answer="x", allow=(line,))


@pytest.mark.parametrize("answer", ["**", "` `", '"\'"'])
def test_an_answer_of_nothing_but_marks_is_refused(answer):
    with pytest.raises(ValueError, match="nothing but marks"):
        Task(id="a", prompt="p", answer=answer)


@pytest.mark.parametrize("answer", ["a\u2028b", "a\x0bb", "a\x85b", "4\u200b2"])
def test_an_answer_that_no_last_line_can_be_is_refused(answer):
    with pytest.raises(ValueError, match="cannot be seen"):
        Task(id="a", prompt="p", answer=answer)


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


def test_of_two_that_keep_tasks_at_once_one_wins_and_both_use_its(tmp_path, monkeypatch):
    path = tmp_path / "alpha.jsonl"
    mine, others = tasks(3), tasks(2)
    other_is_faster = lambda _: path.write_text("".join(f"{one.as_json()}\n" for one in others))  # noqa: E731
    monkeypatch.setattr(os, "fsync", other_is_faster)
    assert frozen(mine, path) == others
    assert [one.name for one in tmp_path.iterdir()] == ["alpha.jsonl"]


def test_a_task_of_another_split_is_neither_kept_nor_used(tmp_path):
    path = tmp_path / "alpha.jsonl"
    stray = next(
        Task(id=f"t-{n}", prompt="p", answer="a") for n in range(60) if split_of(f"t-{n}") == "train"
    )
    with pytest.raises(EvaluationError, match="train"):
        frozen([stray], path)
    assert not path.exists()
    path.write_text(f"{stray.as_json()}\n")
    with pytest.raises(EvaluationError, match="train"):
        frozen([], path)


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
