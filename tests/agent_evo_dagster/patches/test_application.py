"""One patch changes its section as its action says, with one blank line at each seam."""

import pytest

from agent_evo_dagster.patches.application import fitted_body, joined, patched_section
from agent_evo_dagster.patches.types import Action
from tests.agent_evo_dagster.skills.banks import patch


@pytest.mark.parametrize(
    ("action", "body", "result"),
    [
        ("replace", "new", "new\n"),
        ("append", "new\n", "old\n\nnew\n"),
        ("append", "\nnew\n", "old\n\nnew\n"),
        ("prepend", "new", "new\n\nold\n"),
        ("insert_after", "new\n", "old\n"),
    ],
)
def test_actions(action: Action, body: str, result: str) -> None:
    assert patched_section("old\n", patch("old\n", body, action=action)) == result


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        ("", "b\n", "b\n"),
        ("\n", "b\n", "\nb\n"),
        ("a", "b\n", "a\n\nb\n"),
        ("a\n\n", "b\n", "a\n\nb\n"),
        ("a\r\n", "b\r\n", "a\r\n\r\nb\r\n"),
        ("a\n", "", "a\n"),
    ],
)
def test_seams_have_one_blank_line(first: str, second: str, result: str) -> None:
    assert joined(first, second) == result


def test_bodies_take_windows_line_ends_where_the_section_has_them_throughout() -> None:
    item = patch("old\r\n", "a\nb")
    assert fitted_body("old\r\n", item) == "a\r\nb\r\n"
    assert fitted_body("old\r\nmixed\n", item) == "a\nb\n"
    assert fitted_body("old\n", patch("old\n", "a\r\nb")) == "a\r\nb\r\n"
