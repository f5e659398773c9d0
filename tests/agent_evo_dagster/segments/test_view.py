"""What a segmenter sees of commands: names, whatever the alphabet."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.segments.names import names_in
from agent_evo_dagster.segments.view import _WORD, TrajectoryView, in_order, read_views
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import bash, call, hooks


def view_of(*records: dict[str, object]) -> TrajectoryView:
    (view,) = read_views(in_order(build_trajectories(hooks(*records))))
    return view


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("cat src/a.py; tail run_20240101", {"a.py", "run_20240101"}),
        ("echo 12345 a.b", set()),  # a bare number is no run, and files have a known ending
        ("打开 数据.csv，看a.py", {"数据.csv", "看a.py"}),
        ("ls a.py文件 b.py", {"b.py"}),
        ("cat a.pyc x.tar.gz", set()),
        ("", set()),
    ],
)
def test_names_in_a_command(command: str, names: set[str]) -> None:
    assert names_in(view_of(*bash(command, "c1")), 0) == names


TEXTS = st.lists(st.sampled_from([*"aZ09_.-/ 1234训é，\t\n", ".py", ".md", "2024"]), max_size=40).map("".join)


@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_commands_in_ascii_take_a_quicker_path_to_the_same_names(commands: list[str]) -> None:
    view = view_of(*(record for number, text in enumerate(commands) for record in bash(text, f"c{number}")))
    found = pl.Series(commands).str.extract_all(_WORD).to_list()  # a matcher that knows no alphabets apart
    for position, words in enumerate(found):
        assert names_in(view, position) == {word for word in words if not word.isdigit()}


def test_an_input_that_is_no_object_names_nothing() -> None:
    assert names_in(view_of(*call("Read", ["a.py"], {"type": "text"}, "c1")), 0) == frozenset()
