"""Judges asked for by name in the graph: what ran is shown, and what cannot run fails the asset."""

import shutil
from dataclasses import dataclass, replace

import pytest

from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.patches.examiners import ExaminerRun
from agent_evo_dagster.patches.gate import needs_person
from agent_evo_dagster.settings import Settings
from tests.assets.graph import Graph, failures, fake_graph, only_round

GATE = ["patch_evaluation"]


@dataclass(frozen=True)
class Oracle:
    """Takes every patch, and knows it."""

    missing: bool
    name: str = "llm"

    def takes(self, _):
        return True

    def ready(self, _):
        if self.missing:
            raise SettingsError("The oracle has no key.")

    def examine(self, cases, tell):
        tell("it may cost")
        return self, ExaminerRun("llm", "oracle", "m-1", calls=3, tokens=40, estimate=f"{len(cases)} patch")

    def judge(self, case):
        return needs_person(case.patch)


@pytest.fixture
def graph(finished, tmp_path):
    with fake_graph(shutil.copytree(finished, tmp_path / "home"), policy="manual") as graph:
        yield graph


def judged(graph: Graph, monkeypatch, *, missing: bool = False):
    monkeypatch.setattr("assets.judging.MAKERS", {"llm": lambda _: Oracle(missing)})
    settings = Settings(home=graph.settings.home, policy="manual", judges=("llm",))
    return replace(graph, settings=settings).run(only_round(graph), select=GATE)


def test_what_ran_for_a_judge_is_shown_under_its_name(graph, monkeypatch):
    result = judged(graph, monkeypatch)
    assert result.success, failures(result)
    metadata = result.asset_materializations_for_node("patch_evaluation")[0].metadata
    shown = {name: metadata[f"judge_llm_{name}"].value for name in ("engine", "model", "calls", "tokens")}
    assert shown == {"engine": "oracle", "model": "m-1", "calls": 3, "tokens": 40}
    assert metadata["judge_llm_estimate"].value == "1 patch"


def test_a_judge_that_cannot_work_fails_the_asset_and_no_other_steps_in(graph, monkeypatch):
    key = only_round(graph)
    before = graph.frame("patch_evaluation", key)
    result = judged(graph, monkeypatch, missing=True)
    assert not result.success and "The oracle has no key" in failures(result)["patch_evaluation"]
    assert graph.frame("patch_evaluation", key).equals(before)


def test_without_a_name_no_other_judge_is_asked(graph, monkeypatch):
    monkeypatch.setattr("assets.judging.MAKERS", {"llm": lambda _: Oracle(missing=True)})
    result = graph.run(only_round(graph), select=GATE)
    assert result.success, failures(result)
    names = result.asset_materializations_for_node("patch_evaluation")[0].metadata
    assert not [name for name in names if name.startswith("judge_")]
