"""An analyst in the graph: its drafts become patches that wait, and what it took is shown."""

import json
import shutil
from dataclasses import asdict, replace

import polars as pl
import pytest

from agent_evo_dagster.rounds.not_proposed import not_proposed
from agent_evo_dagster.rounds.state import RoundState, state_of
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from tests.agent_evo_dagster.analysts.fake_models import FakeModels, serving
from tests.assets.graph import Graph, failures, fake_graph, only_round

PATCHES = ["skill_patches"]


@pytest.fixture
def graph(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with fake_graph(shutil.copytree(finished, tmp_path / "home"), policy="manual") as graph:
        yield graph


def asking(graph: Graph, url: str) -> Graph:
    """The same graph with another analyst."""
    settings = Settings(
        home=graph.settings.home,
        policy="manual",
        analyst="openai",
        analyst_model="m",
        analyst_url=f"{url}/v1",
    )
    return replace(graph, settings=settings)


def drafted(graph: Graph, key: str) -> str:
    """An answer with one line for a section of prose that the round's findings are shown with."""
    found = pl.concat([graph.frame(name, key) for name in ("session_findings", "training_findings")])
    patch = {
        "kind": "prose",
        "findings": [found["finding_id"][0]],
        "skill": "rllm-run",
        "section": "failures",
        "action": "append",
        "text": "- Read the last lines of the log before another try.\n",
        "why": "seen often",
    }
    return json.dumps({"findings": [], "patches": [patch]})


def test_the_drafts_of_an_analyst_are_the_rounds_patches_and_what_it_took_is_shown(graph):
    key = only_round(graph)
    fake = FakeModels(drafted(graph, key))
    with serving(fake) as url:
        result = asking(graph, url).run(key, select=PATCHES)
        assert result.success, failures(result)
        frame = graph.frame("skill_patches", key)
        assert asking(graph, url).run(key, select=PATCHES).success  # on record: not asked again
    assert len(fake.requests) == 1 and graph.frame("skill_patches", key).equals(frame)
    (row,) = frame.iter_rows(named=True)
    assert (row["skill"], row["section"], row["settings"]) == ("rllm-run", "failures", "{}")
    metadata = result.asset_materializations_for_node("skill_patches")[0].metadata
    shown = {name: metadata[f"analyst{name}"].value for name in ("", "_model", "_calls", "_tokens")}
    assert metadata["analyst_answered_by"].value == "m"
    assert shown == {"": "openai", "_model": "m", "_calls": 1, "_tokens": 125}
    assert "at most 2 answers" in metadata["analyst_estimate"].value
    assert "sk-secret" not in str(metadata)
    kept = not_proposed(RoundStore(graph.settings.rounds), key)
    assert kept is not None and [asdict(one) for one in kept] == metadata["not_proposed"].value


def test_a_broken_answer_fails_the_asset_and_no_rule_steps_in(graph):
    key = only_round(graph)
    before = graph.frame("skill_patches", key)
    with serving(FakeModels("nonsense", "nonsense")) as url:
        result = asking(graph, url).run(key, select=PATCHES)
    assert not result.success and "answered twice" in failures(result)["skill_patches"]
    assert graph.frame("skill_patches", key).equals(before)
    state = state_of(graph.settings, key)
    assert state.word == "waiting; then failed at skill_patches"
    assert "answered twice" in state.reason
    assert graph.run(key, select=PATCHES).success
    assert state_of(graph.settings, key) == RoundState("waiting", "waiting")


def test_a_missing_key_fails_the_asset(graph, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    result = asking(graph, "http://127.0.0.1:9").run(only_round(graph), select=PATCHES)
    assert not result.success and "OPENAI_API_KEY is not set" in failures(result)["skill_patches"]


def test_the_default_analyst_is_the_rules(graph):
    key = only_round(graph)
    before = graph.frame("skill_patches", key)
    result = graph.run(key, select=PATCHES)
    assert graph.frame("skill_patches", key).equals(before) and before.height == 1
    metadata = result.asset_materializations_for_node("skill_patches")[0].metadata
    assert metadata["analyst"].value == "rules" and "analyst_calls" not in metadata
