"""Lineage: edges of one round, followed both ways."""

import polars as pl

from agent_evo_dagster.rounds.lineage import RoundFrames, ancestors, descendants, lineage_edges


def frames() -> RoundFrames:
    return RoundFrames(
        segments=pl.DataFrame({"segment_id": ["s1"], "event_ids": [["e1", "e2"]]}),
        findings=pl.DataFrame({"finding_id": ["f1"], "evidence": [["s1", "reward@0-9"]]}),
        patches=pl.DataFrame({"patch_id": ["p1"], "findings": [["f1"]]}),
        decisions=pl.DataFrame({"patch_id": ["p1"], "record_hash": ["d1"]}),
        training_run=pl.DataFrame(
            {"run_id": ["r1"], "config_sha256": ["c1"], "checkpoint_sha256": ["w2"], "init_sha256": ["w1"]}
        ),
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


def test_an_event_is_followed_to_what_came_of_it() -> None:
    edges = lineage_edges("round-0001", "bank", frames())
    assert ("skill", f"rllm-config@{'a' * 16}") in descendants(edges, "e1")


def test_equal_rounds_give_equal_edges() -> None:
    assert lineage_edges("round-0001", "bank", frames()).equals(lineage_edges("round-0001", "bank", frames()))


def test_a_patch_that_waits_has_no_decision_edge() -> None:
    waiting = frames()
    undecided = RoundFrames(
        waiting.segments,
        waiting.findings,
        waiting.patches,
        pl.DataFrame(
            {"patch_id": ["p1"], "record_hash": [None]},
            schema={"patch_id": pl.String, "record_hash": pl.String},
        ),
        waiting.training_run,
        waiting.skills,
    )
    assert "decision" not in lineage_edges("round-0001", "bank", undecided)["child_kind"].to_list()
