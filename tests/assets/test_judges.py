"""The gate through the graph: nothing is spent with a broken judge, and what was paid for is kept."""

import shutil
from collections.abc import Iterator

import pytest

from agent_evo_dagster.errors import GateError
from agent_evo_dagster.patches.evidence import GateEvidence
from tests.assets.fake_trainer import FakeTrainer
from tests.assets.graph import Graph, failures, fake_graph, only_round


@pytest.fixture
def unjudged(finished, tmp_path) -> Iterator[tuple[Graph, str]]:
    """A round whose patch is to be judged, under the policy that would follow the gate."""
    home = shutil.copytree(finished, tmp_path / "home")
    with fake_graph(home, sessions=False) as graph:
        key = only_round(graph)
        for probe in (graph.settings.runs / key).glob("probe-*"):
            shutil.rmtree(probe)
        yield graph, key


def probes(graph: Graph, key: str) -> list[str]:
    return [path.name for path in (graph.settings.runs / key).glob("probe-*")]


@pytest.mark.parametrize("judge", ["self_test", "replay_self_test"])
def test_a_judge_that_fails_its_own_test_spends_nothing(unjudged, monkeypatch, judge):
    def broken() -> None:
        raise GateError("The judge fails its own test.")

    graph, key = unjudged
    monkeypatch.setattr(f"assets.patches.{judge}", broken)
    result = graph.run(key, select=["patch_evaluation"])
    assert "fails its own test" in failures(result)["patch_evaluation"]
    assert probes(graph, key) == []
    assert graph.run(key, select=["patch_evaluation"]).success is False


@pytest.mark.parametrize(
    ("trainer", "said"),
    [
        (FakeTrainer(stops=True), "the probe ended early: the time limit"),
        (FakeTrainer(lost=True), "1 scores are missing or not finite"),
    ],
)
def test_what_was_paid_for_is_kept_and_the_verdict_is_unverified(unjudged, trainer, said):
    graph, key = unjudged
    assert graph.run(key, select=["patch_evaluation"], trainer=trainer).success
    row = graph.frame("patch_evaluation", key).row(0, named=True)
    assert row["verdict"] == "reject_unverified" and said in row["reason"]
    evidence = GateEvidence.model_validate_json(row["evidence"])
    assert evidence.cost.rollouts > 0 and evidence.cost.tokens > 0 and evidence.measured is None
    (probe,) = probes(graph, key)
    assert (graph.settings.runs / key / probe / "evaluation.parquet").is_file()
