"""Lineage: edges of one round, followed both ways."""

from dataclasses import replace

import polars as pl

from agent_evo_dagster.rounds.lineage import RoundFrames, ancestors, descendants, lineage_edges


def frames() -> RoundFrames:
    return RoundFrames(
        segments=pl.DataFrame({"segment_id": ["s1"], "event_ids": [["e1", "e2"]]}),
        findings=pl.DataFrame(
            {"finding_id": ["f1"], "origin": ["session"], "evidence": [["s1", "reward@0-9"]]}
        ),
        patches=pl.DataFrame({"patch_id": ["p1"], "findings": [["f1"]]}),
        decisions=pl.DataFrame({"patch_id": ["p1"], "record_hash": ["d1"]}),
        training_run=pl.DataFrame(
            {"run_id": ["r1"], "config_sha256": ["c1"], "checkpoint_sha256": ["w2"], "init_sha256": ["w1"]}
        ),
        training_config=pl.DataFrame(
            {"source": ["skill", "default"], "origin": ["rllm-config/optimisation", "training defaults"]}
        ),
        skills_read={"rllm-config": "b" * 64},
        skills=pl.DataFrame({"name": ["rllm-config"], "sha256": ["a" * 64], "patches": [["p1"]]}),
    )


def test_a_skill_is_traced_back_to_its_events() -> None:
    edges = lineage_edges("round-0001", "bank", frames())
    found = ancestors(edges, f"rllm-config@{'a' * 16}")
    assert {("patch", "p1"), ("finding", "f1"), ("segment", "s1"), ("event", "e1"), ("event", "e2")} <= set(
        found
    )


def test_a_checkpoint_is_traced_back_to_the_bank_and_its_parent() -> None:
    edges = lineage_edges("round-0001", "bank", frames())
    assert {("config", "c1"), ("bank", "bank"), ("checkpoint", "w1")} <= set(ancestors(edges, "w2"))


def test_a_configuration_comes_from_the_skill_as_it_was_read() -> None:
    edges = lineage_edges("round-0001", "bank", frames())
    found = ancestors(edges, "w2")
    assert ("skill", f"rllm-config@{'b' * 16}") in found
    assert ("skill", f"rllm-config@{'a' * 16}") not in found


def test_a_finding_of_training_comes_from_its_run() -> None:
    trained = replace(
        frames(),
        findings=pl.DataFrame({"finding_id": ["f1"], "origin": ["training"], "evidence": [["reward@0-9"]]}),
    )
    edges = lineage_edges("round-0001", "bank", trained)
    assert {("run", "r1"), ("evidence", "reward@0-9")} <= set(ancestors(edges, "f1"))


def test_an_event_is_followed_to_what_came_of_it() -> None:
    edges = lineage_edges("round-0001", "bank", frames())
    assert ("skill", f"rllm-config@{'a' * 16}") in descendants(edges, "e1")


def test_equal_rounds_give_equal_edges() -> None:
    assert lineage_edges("round-0001", "bank", frames()).equals(lineage_edges("round-0001", "bank", frames()))


def test_a_patch_that_waits_has_no_decision_edge() -> None:
    waiting = frames()
    no_record = {"patch_id": pl.String, "record_hash": pl.String}
    undecided = replace(
        waiting, decisions=pl.DataFrame({"patch_id": ["p1"], "record_hash": [None]}, schema=no_record)
    )
    assert "decision" not in lineage_edges("round-0001", "bank", undecided)["child_kind"].to_list()
