"""Sizes are the same everywhere, and above guidance they are told."""

import pytest

from agent_evo_dagster.skills.size import estimated_tokens, size_of


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("word", 1),
        ("two words", 2),
        ("internationalisation", 3),
        ("1234567", 3),
        ("a\n\n\nb", 3),
        ("---", 2),
        ("中文字", 3),
        ("é", 1),
        ("learning_rate: 2e-5", 8),
    ],
)
def test_tokens_are_estimated_by_rule(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


def test_lines_are_counted_with_and_without_a_last_line_end() -> None:
    assert [size_of(text).lines for text in ("", "a", "a\n", "a\nb")] == [0, 1, 1, 2]


def test_only_what_is_above_guidance_is_warned_of() -> None:
    assert size_of("word " * 5_000 + "\n" * 499).warnings != ()
    assert size_of("word " * 4_000 + "\n" * 500).warnings == ()
    assert [text.split(",")[0] for text in size_of("a\n" * 2_600).warnings] == ["about 5", "2"]
