"""What a round did not propose is kept with its reasons, and told."""

import pytest

from agent_evo_dagster.analysis.views.not_proposed import NotProposed
from agent_evo_dagster.cli.overview import _not_proposed
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.patches.propose import Skipped
from agent_evo_dagster.rounds.not_proposed import keep_not_proposed, not_proposed
from agent_evo_dagster.rounds.store import RoundStore

KEY = "round-0001"


@pytest.fixture
def store(tmp_path):
    return RoundStore(tmp_path)


def test_it_is_kept_as_it_was_and_hidden_characters_are_made_visible(store):
    skipped = [Skipped("f-1", "learning_rate", "was rejected"), Skipped("f-2", "\u202eprose", "a\nb")]
    keep_not_proposed(store, KEY, skipped)
    first = (store.folder(KEY) / "not_proposed.json").read_bytes()
    keep_not_proposed(store, KEY, skipped)
    assert (store.folder(KEY) / "not_proposed.json").read_bytes() == first
    assert not_proposed(store, KEY) == (
        NotProposed("f-1", "learning_rate", "was rejected"),
        NotProposed("f-2", "[U+202E]prose", "a b"),
    )


def test_what_cannot_be_read_is_told_and_hides_nothing_else(store):
    keep_not_proposed(store, KEY, [])
    (store.folder(KEY) / "not_proposed.json").write_text("{")
    with pytest.raises(RoundError, match="Delete it, and it counts as not kept"):
        not_proposed(store, KEY)
    (line,) = _not_proposed(store, KEY)
    assert "cannot be read" in line


def test_a_round_made_before_says_that_nothing_was_kept(store):
    assert not_proposed(store, KEY) is None
    assert _not_proposed(store, KEY) == ["not proposed: not kept by the version that made the round."]


@pytest.mark.parametrize("count", [0, 5, 6])
def test_the_summary_has_five_lines_and_how_many_more(store, count):
    keep_not_proposed(store, KEY, [Skipped(f"f-{at}", "prose", "x" * 999) for at in range(count)])
    lines = _not_proposed(store, KEY)
    assert len(lines) == count and all(len(line) < 330 for line in lines)
    if count:
        assert lines[0].startswith("not proposed: advice (f-0): xxx")
    if count > 5:
        assert lines[-1] == "not proposed: 1 more; the report has all: agent-evo report round-0001"
