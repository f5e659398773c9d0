"""The judge `rollout` in the graph: asked for by name, it tries prose on the bank's tasks."""

import json
import shutil
from dataclasses import dataclass, replace

import pytest

from agent_evo_dagster.patches.evidence import GateEvidence
from agent_evo_dagster.settings import Settings
from assets.judging import MAKERS
from resources.rollouts import RolloutJudgeResource
from tests.agent_evo_dagster.analysts.fake_models import FakeModels, serving
from tests.agent_evo_dagster.rollouts.material import Scripted, attempt, written
from tests.assets.graph import Graph, failures, fake_graph, only_round
from tests.assets.test_analysts import drafted

GATE = ["patch_evaluation", "patch_decisions"]


@dataclass(frozen=True)
class Tried:
    """A round whose only patch is prose, of a skill that has tasks."""

    graph: Graph
    key: str
    reader: Scripted

    def judge(self):
        result = self.graph.run(self.key, select=GATE)
        assert result.success, failures(result)
        return result.asset_materializations_for_node("patch_evaluation")[0].metadata


@pytest.fixture
def tried(finished, tmp_path, monkeypatch):
    with fake_graph(shutil.copytree(finished, tmp_path / "home")) as graph:
        key, reader = only_round(graph), Scripted(lambda _, text: attempt("before another try" in text))
        options = {"home": graph.settings.home, "policy": "auto", "judges": ("rollout",)}
        fake = FakeModels(drafted(graph, key))
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        with serving(fake) as url:
            drafting = Settings(**options, analyst="openai", analyst_model="m", analyst_url=f"{url}/v1")
            assert replace(graph, settings=drafting).run(key, select=["skill_patches"]).success
        monkeypatch.setattr(RolloutJudgeResource, "_reader", lambda _: reader)
        yield Tried(replace(graph, settings=Settings(**options)), key, reader)


def test_prose_that_helps_is_accepted_with_its_cost_and_still_waits_for_a_person(tried):
    written(tried.graph.settings.tasks, "rllm-run")
    shown = tried.judge()
    row = tried.graph.frame("patch_evaluation", tried.key).row(0, named=True)
    assert (row["judge"], row["verdict"], row["n"]) == ("rollout", "accept", 20)
    evidence = GateEvidence.model_validate_json(row["evidence"])
    assert (evidence.cost.rollouts, evidence.cost.usd, evidence.rollout.operator) == (240, 2.4, "scripted 1")
    names = {name: shown[f"judge_rollout_{name}"].value for name in ("engine", "model", "calls", "cost_usd")}
    assert names == {"engine": "scripted 1", "model": "m", "calls": 240, "cost_usd": 2.4}
    decision = tried.graph.frame("patch_decisions", tried.key).row(0, named=True)
    assert decision["decision"] == "wait"
    before = tried.graph.frame("patch_evaluation", tried.key)
    assert tried.judge()["judge_rollout_calls"].value == 0  # made again: on record
    assert tried.graph.frame("patch_evaluation", tried.key).equals(before) and len(tried.reader.given) == 240


def test_who_does_the_tasks_is_asked_before_who_compares_the_texts():
    assert list(MAKERS) == ["rollout", "llm"]


def test_without_tasks_the_next_judge_takes_it(tried):
    tried.judge()
    assert tried.graph.frame("patch_evaluation", tried.key)["judge"].to_list() == ["replay"]
    assert tried.reader.given == []


def test_what_nobody_can_read_fails_the_asset(tried):
    written(tried.graph.settings.tasks, "rllm-run")
    (tried.graph.settings.tasks / "rllm-run" / "broken.yaml").write_text(json.dumps({"id": "broken"}))
    result = tried.graph.run(tried.key, select=GATE)
    assert not result.success and "broken.yaml is no task" in failures(result)["patch_evaluation"]
