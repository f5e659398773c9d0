import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.analysis.commands import head_of, programs, starts_with


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("ls -la", ["ls"]),
        ("cd /p && sudo /usr/bin/tail -5 log | grep x || true", ["cd", "tail", "grep", "true"]),
        ("A=1 B='x' timeout 60 python3 train.py", ["python3"]),
        ("until grep -q done log; do sleep 5; done", ["grep", "sleep"]),
        ("(sleep 3; cat x) & wait", ["sleep", "cat", "wait"]),
        ("cat > x <<'EOF'\nrm -rf /\nEOF", ["cat"]),
        ("", []),
        ("   \n\n ; ; && ", []),
        ("nohup env X=1", []),
    ],
)
def test_a_command_is_cut_into_the_programs_that_it_runs(command, names):
    assert [program.name for program in programs(command)] == names


@pytest.mark.parametrize(
    ("command", "head"),
    [
        ("agent-evo rounds run round-0001 --seed 1", "agent-evo rounds run"),
        ("git -C /x push", "git"),
        ("git push origin main", "git push origin"),
        ("python train.py", "python train.py"),
        ("ls /p; ls /q; cat x; wc y; du z", "ls | cat x | wc y"),
        (None, ""),
    ],
)
def test_a_head_is_the_program_with_its_subcommands(command, head):
    assert head_of(command) == head


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("sleep 60", 60),
        ("sleep 1.5", 1.5),
        ("sleep 2m", 120),
        ("sleep 1h", 3600),
        ("sleep $N", None),
        ("ls 5", None),
    ],
)
def test_how_long_a_command_sleeps(command, seconds):
    assert programs(command)[0].seconds == seconds


def test_a_command_is_what_a_skill_prescribes_where_its_words_come_first():
    (program,) = programs("agent-evo rounds run round-0001")
    assert starts_with(program, "agent-evo rounds run")
    assert starts_with(program, "agent-evo rounds")
    assert not starts_with(program, "agent-evo rounds open")
    assert not starts_with(program, "agent")


@given(st.text(max_size=300))
def test_no_text_breaks_the_cutting(text):
    found = programs(text)
    assert len(found) <= 40
    assert all(program.head.split()[:1] == program.name.split()[:1] for program in found)
    assert programs("x" * 100_000 + text)[0].name.startswith("x")
