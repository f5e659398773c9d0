"""Prose that waits is replayed on the sessions of later rounds, and on no others."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.patches.evidence import GateEvidence
from agent_evo_dagster.patches.review import find_review, reviews
from agent_evo_dagster.rounds.opening import RoundRequest
from agent_evo_dagster.rounds.replaying import Replays
from tests.assets.graph import ROOT, Graph, fake_graph

LEARNS = RoundRequest(overrides={"learning_rate": 1e-4})  # training has nothing to propose then


def again(graph: Graph, folder: Path, digit: str) -> None:
    """The sample sessions once more, as sessions of other people."""
    folder.mkdir()
    for path in (ROOT / "samples").glob("*.jsonl"):
        text = path.read_text()
        session = json.loads(text.splitlines()[0])["hook"]["session_id"]
        (folder / path.name).write_text(text.replace(session, digit * 8 + session[8:]))
    import_sessions(folder, graph.settings.spool)


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Graph, str]]:
    """Two rounds: advice is made in the first, and what it is about fails again in the second."""
    tmp = tmp_path_factory.mktemp("replay")
    with fake_graph(tmp / "home") as graph:
        again(graph, tmp / "more", "1")
        graph.round(LEARNS)
        again(graph, tmp / "later", "2")
        graph.round(LEARNS)
        yield graph, graph.frame("skill_patches", "round-0001")["patch_id"][0]


def test_in_its_own_round_there_is_nothing_to_replay_it_on(rounds):
    graph, _ = rounds
    row = graph.frame("patch_evaluation", "round-0001").row(0, named=True)
    assert (row["judge"], row["verdict"], row["n"]) == ("replay", "needs_person", 0)
    assert "no session came after round-0001" in row["reason"]
    assert graph.frame("patch_decisions", "round-0001")["decision"].to_list() == ["wait"]
    assert graph.frame("patch_replay", "round-0001").is_empty()


def test_the_next_round_replays_it_on_its_own_sessions_and_a_person_still_decides(rounds):
    graph, patch = rounds
    row = graph.frame("patch_replay", "round-0002").row(0, named=True)
    assert (row["patch_id"], row["judge"], row["verdict"], row["n"]) == (patch, "replay", "needs_person", 1)
    assert (row["baseline"], row["candidate"]) == (0.0, 1.0)
    facts = GateEvidence.model_validate_json(row["evidence"]).replay
    assert (facts.made_in, facts.rounds, facts.sessions) == ("round-0001", ("round-0002",), 6)
    assert facts.named_after == facts.failures > 0
    assert patch not in graph.ledger.verdicts()


def test_both_reports_tell_of_the_replay_that_of_the_first_round_once_made_again(rounds):
    graph, patch = rounds
    later = (graph.settings.reports / "round-0002" / "report.md").read_text()
    (line,) = [line for line in later.splitlines() if line.startswith(f"| {patch} | replay | 1 |")]
    assert "needs_person" in line
    assert graph.run("round-0001", select=["analysis_report"]).success
    told = (graph.settings.reports / "round-0001" / "report.md").read_text()
    assert "replayed on later sessions in round-0002: needs_person" in told


def test_a_reviewer_sees_the_newest_evidence(rounds):
    graph, patch = rounds
    review = find_review(reviews(graph.warehouse, graph.ledger), patch)
    assert review.evidence.judge == "replay" and review.evidence.measured.n == 1


def test_the_material_leaves_out_every_session_of_the_round_that_made_it_and_of_those_before(rounds):
    graph, patch = rounds
    for upto, sessions in (("round-0001", 0), ("round-0002", 6)):
        patches = graph.frame("skill_patches", "round-0001")
        material = Replays(graph.warehouse, upto).judge_of(patches).materials[patch]
        assert len(material.own) == 12
        assert len(material.sessions) == sessions
        assert not material.own & {one.session for one in material.sessions}


def test_a_round_that_is_judged_again_later_gets_the_same_evidence(rounds):
    graph, _ = rounds
    before = graph.frame("patch_evaluation", "round-0001")
    assert graph.run("round-0001", select=["patch_evaluation", "patch_replay"]).success
    assert graph.frame("patch_evaluation", "round-0001").equals(before)
    assert graph.frame("patch_replay", "round-0001").is_empty()
