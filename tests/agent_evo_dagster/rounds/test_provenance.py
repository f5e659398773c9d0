"""From a patch down to events, with as much of each as a person looks at first."""

import json

import polars as pl

from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.rounds.provenance import SHOWN, sources_of
from tests.agent_evo_dagster.patches.material import a_patch

EVENTS = [f"e{number}" for number in range(SHOWN + 2)]
SEGMENTS = pl.DataFrame({"segment_id": ["s1"], "kind": ["skill"], "event_ids": [EVENTS]})
FINDINGS = pl.DataFrame(
    {
        "finding_id": ["f1", "f2"],
        "summary": ["a tool failed", "the reward is flat"],
        "evidence": [["s1"], ["reward@0-9"]],
    }
)


def patch_of(*findings: str) -> Patch:
    return a_patch().model_copy(update={"findings": findings})


def test_a_finding_of_sessions_leads_to_its_segments_and_their_first_events():
    (finding,) = sources_of(patch_of("f1"), FINDINGS, SEGMENTS)
    (segment,) = finding.below
    assert (finding.kind, finding.what) == ("finding", "a tool failed")
    assert (segment.kind, segment.id, segment.parts) == ("segment", "s1", len(EVENTS))
    assert [event.id for event in segment.below] == EVENTS[:SHOWN]


def test_a_finding_of_training_leads_to_its_figures():
    (finding,) = sources_of(patch_of("f2"), FINDINGS, SEGMENTS)
    assert [(item.kind, item.id) for item in finding.below] == [("evidence", "reward@0-9")]


def test_findings_keep_the_order_of_the_patch_and_a_missing_one_says_so():
    found = sources_of(patch_of("f2", "gone", "f1"), FINDINGS, SEGMENTS)
    assert [item.id for item in found] == ["f2", "gone", "f1"]
    assert found[1].what == "not in this round"


def test_the_chain_is_plain_json():
    (finding,) = sources_of(patch_of("f1"), FINDINGS, SEGMENTS)
    shown = json.loads(json.dumps(finding.as_json()))
    assert shown["first"][0]["first"][0] == {"event": "e0", "what": ""}
