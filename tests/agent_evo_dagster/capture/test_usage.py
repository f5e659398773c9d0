"""Tests of the tokens that messages took: by session, skill and step, and their cost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.capture.usage import read_prices, usage_by, usage_by_step, with_cost
from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.capture.transcripts import (
    call,
    gathered,
    line,
    recorded,
    result,
    said,
    transcript,
)

# Messages of the model in the recorded transcripts, counted by hand; each took 42 tokens of output.
MESSAGES = {"68347ea1": 21, "4b43c4ab": 11, "2bdab53a": 4, "bccaa4e8": 3, "73c99e32": 2, "a927356c": 1}


def test_recorded_messages_are_counted_once(shared: Callable[[str], Path], tmp_path: Path) -> None:
    usage = gathered(tmp_path, recorded(shared("claude_code"), tmp_path)).usage
    sessions = usage_by(usage, "session_id").select("session_id", "messages", "output_tokens").rows()
    assert {session[:8]: n for session, n, _ in sessions} == MESSAGES
    assert all(tokens == 42 * n for _, n, tokens in sessions)
    skills = dict(usage_by(usage, "skill").select("skill", "messages").rows())
    assert skills["forked-skill"] == 4
    assert sum(skills.values()) == 42


def test_what_the_client_counted_holds_all_messages_and_more(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    totals = gathered(tmp_path, recorded(shared("claude_code"), tmp_path)).totals
    requests = {session[:8]: (client, told) for session, client, told, _ in totals.rows()}
    each = 100 + 10 + 1000 + 42  # tokens of each request of the recordings
    # The session that was compacted and resumed asked twice more than its transcript tells.
    beyond = {"68347ea1": 2}
    assert requests == {s: ((n + beyond.get(s, 0)) * each, n * each) for s, n in MESSAGES.items()}
    costs = {session[:8]: round(cost, 6) for session, *_, cost in totals.rows()}
    assert costs == {s: round((n + beyond.get(s, 0)) * 0.00149, 6) for s, n in MESSAGES.items()}


def counted(tokens: object, cost: object = 0.5, start: int = 1, **fields: object) -> bytes:
    models = {"a-model": {"inputTokens": tokens, "outputTokens": 0}}
    return line("cost-state", modelUsage=models, totalCostUSD=cost, startTime=start, **fields)


def test_the_last_count_of_a_run_is_its_sum_and_runs_add_up(tmp_path: Path) -> None:
    told = transcript(tmp_path, counted(10), counted(30, 1.5), counted(7, 0.25, start=2), said({}))
    assert gathered(tmp_path, [told]).totals.rows() == [("s-1", 37, 115, 1.75)]


@pytest.mark.parametrize("models", [None, [], {"a": 1}, {"a": {"inputTokens": "x"}}, {"a": {}}])
def test_a_count_that_is_none_counts_nothing(tmp_path: Path, models: object) -> None:
    told = transcript(tmp_path, line("cost-state", modelUsage=models, totalCostUSD="much"))
    assert gathered(tmp_path, [told]).totals.rows() == [("s-1", 0, 0, None)]


def test_a_model_without_a_price_leaves_the_cost_unknown(tmp_path: Path) -> None:
    told = transcript(tmp_path, counted(10, hasUnknownModelCost=True), counted(10, start=2))
    assert gathered(tmp_path, [told]).totals["cost_usd"].to_list() == [None]


def test_a_count_that_grew_adds_only_what_is_new(tmp_path: Path) -> None:
    before = transcript(tmp_path, counted(10), said({}))
    whole = transcript(tmp_path, counted(10), said({}), counted(25, 0.75))
    data = (tmp_path / whole.file).read_bytes()[before.end :]
    rest = FileSlice(whole.file, before.end, whole.end, sha256_bytes(data), ("s-1",))
    assert gathered(tmp_path, [rest], earlier=[before]).totals.rows() == [("s-1", 15, 0, 0.25)]


def test_every_message_is_of_one_step(shared: Callable[[str], Path], tmp_path: Path) -> None:
    found = gathered(tmp_path, recorded(shared("claude_code"), tmp_path, hooks=False))
    steps = usage_by_step(found.usage, build_trajectories(found.events))
    assert steps["message_id"].n_unique() == steps.height == found.usage.height
    assert steps["output_tokens"].sum() == found.usage["output_tokens"].sum()


def test_words_of_the_client_take_no_tokens(tmp_path: Path) -> None:
    usage = {"input_tokens": 5, "output_tokens": 5}
    body = {
        "id": "m",
        "model": "<synthetic>",
        "usage": usage,
        "content": [{"type": "text", "text": "API Error"}],
    }
    found = gathered(tmp_path, [transcript(tmp_path, line("assistant", message=body))])
    assert found.usage.is_empty()
    assert found.events["text"].to_list() == ["API Error"]


def test_a_cost_needs_a_price_of_the_model(tmp_path: Path) -> None:
    found = gathered(tmp_path, [transcript(tmp_path, said(call("c1"), output=2_000_000), result("c1"))])
    assert found.usage["cost_usd"].to_list() == [None]
    table = tmp_path / "prices.json"
    table.write_text('{"a-model": {"input": 1000000, "output": 2, "cache_creation": 0, "cache_read": 10000}}')
    assert with_cost(found.usage, read_prices(table))["cost_usd"].to_list() == [10 + 4 + 1]
    assert with_cost(found.usage, {})["cost_usd"].to_list() == [None]


@pytest.mark.parametrize("text", ["", "[]", '{"m": {"input": 1}}', '{"m": {"input": -1}}', '{"m": 3}'])
def test_what_is_no_table_of_prices_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "prices.json").write_text(text)
    with pytest.raises(CaptureError, match="for a million tokens"):
        read_prices(tmp_path / "prices.json")
