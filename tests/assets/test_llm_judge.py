"""A model that judges, in the graph: what it says is a person's to weigh, and nobody stands in for it."""

import json
import shutil
from dataclasses import replace

import pytest

from agent_evo_dagster.patches.evidence import GateEvidence
from agent_evo_dagster.settings import Settings
from tests.agent_evo_dagster.analysts import fake_judges as judges
from tests.agent_evo_dagster.analysts.fake_judges import FakeJudge
from tests.agent_evo_dagster.analysts.fake_models import FakeModels, serving
from tests.assets.graph import Graph, failures, fake_graph, only_round
from tests.assets.test_analysts import drafted

GATE = ["patch_evaluation", "patch_decisions"]


@pytest.fixture
def prose(finished, tmp_path, monkeypatch):
    """A round whose patch is a line of prose that an analyst drafted; nobody has judged it yet."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with fake_graph(shutil.copytree(finished, tmp_path / "home")) as graph:
        key = only_round(graph)
        with serving(FakeModels(drafted(graph, key))) as url:
            asked = settings(graph, analyst="openai", analyst_model="m", analyst_url=f"{url}/v1")
            assert replace(graph, settings=asked).run(key, select=["skill_patches"]).success
        yield graph, key


def settings(graph: Graph, **more: object) -> Settings:
    return Settings(home=graph.settings.home, **more)


def judging(graph: Graph, url: str, **more: object) -> Graph:
    """The same graph with a model that judges."""
    options = {"judge_service": "openai", "judge_model": "m", "judge_url": f"{url}/v1", "judge_samples": 2}
    return replace(graph, settings=settings(graph, judges=("llm",), **{**options, **more}))


def test_what_it_says_is_shown_with_what_it_took_and_a_person_decides(prose):
    graph, key = prose
    fake = FakeJudge(judges.good)
    with serving(fake) as url:
        result = judging(graph, url).run(key, select=GATE)
        assert result.success, failures(result)
        frame = graph.frame("patch_evaluation", key)
        asked = len(fake.requests)
        assert judging(graph, url).run(key, select=GATE).success  # on record: not asked again
    assert len(fake.requests) == asked and graph.frame("patch_evaluation", key).equals(frame)
    (row,) = frame.iter_rows(named=True)
    assert (row["judge"], row["verdict"], row["n"], row["difference"]) == ("llm", "needs_person", 2, 1.0)
    facts = GateEvidence.model_validate_json(row["evidence"]).llm
    assert (facts.service, facts.model, facts.failures) == ("openai", "m", 0)
    assert graph.frame("patch_decisions", key)["decision"].to_list() == ["wait"]
    metadata = result.asset_materializations_for_node("patch_evaluation")[0].metadata
    names = ("engine", "model", "calls", "tokens")
    shown = {name: metadata[f"judge_llm_{name}"].value for name in names}
    assert shown == {"engine": "openai", "model": "m", "calls": asked, "tokens": 125 * asked}
    assert f"{asked} questions, at most" in metadata["judge_llm_estimate"].value
    assert "sk-secret" not in str(metadata)


def test_what_it_finds_worse_is_told_to_who_decides(prose):
    def dislikes(one: str, two: str) -> str:
        here = "Read the last lines" in one + two  # the patch, and none of the known texts
        return (judges.contrary if here else judges.good)(one, two)

    graph, key = prose
    with serving(FakeJudge(dislikes)) as url:
        assert judging(graph, url).run(key, select=GATE).success
    (row,) = graph.frame("patch_decisions", key).iter_rows(named=True)
    assert (row["decision"], row["gate_verdict"]) == ("wait", "reject")  # the round's policy is manual
    assert "prefers the section without it" in row["reason"]


@pytest.mark.parametrize("taste", [judges.positional, judges.sycophant])
def test_a_judge_that_fails_its_own_test_fails_the_asset_and_no_other_steps_in(prose, taste):
    graph, key = prose
    before = graph.frame("patch_evaluation", key)
    with serving(FakeJudge(taste)) as url:
        result = judging(graph, url).run(key, select=GATE)
    assert "fails its own test" in failures(result)["patch_evaluation"]
    assert graph.frame("patch_evaluation", key).equals(before)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"judge_service": None}, "AGENT_EVO_JUDGE_SERVICE"),
        ({"judge_model": None}, "AGENT_EVO_JUDGE_MODEL=NAME"),
        ({"judge_key_env": "NOT_SET"}, "variable NOT_SET is not set"),
        ({"judge_service": "claude_code"}, "no program 'claude' is on PATH"),
        ({"judge_calls": 3}, "AGENT_EVO_JUDGE_CALLS"),
    ],
)
def test_a_judge_that_cannot_be_asked_fails_the_asset(prose, monkeypatch, tmp_path, options, said):
    monkeypatch.setenv("PATH", str(tmp_path))
    graph, key = prose
    fake = FakeJudge(judges.good)
    with serving(fake) as url:
        result = judging(graph, url, **options).run(key, select=["patch_evaluation"])
    assert said in failures(result)["patch_evaluation"] and fake.requests == []


def test_settings_are_measured_and_no_model_is_asked_about_them(finished, tmp_path):
    with fake_graph(shutil.copytree(finished, tmp_path / "home")) as graph:
        key = only_round(graph)
        result = judging(graph, "http://127.0.0.1:9").run(key, select=["patch_evaluation"])
        assert result.success, failures(result)
        row = graph.frame("patch_evaluation", key).row(0, named=True)
        assert row["judge"] == "probe" and json.loads(row["evidence"]).get("llm") is None
