import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.analysis.findings import (
    MAX_EVIDENCE,
    MAX_SUMMARY,
    canonical_json,
    make_finding,
    to_frame,
)
from agent_evo_dagster.analysis.types import FINDING_SCHEMA, SettingHint, Severity


def finding(**changes):
    fields = {
        "severity": Severity.WARNING,
        "summary": "three calls failed",
        "evidence": ["g-1", "s-1", "e-1"],
        "count": 3,
        "confidence": 0.8,
        "data": {"tool": "Bash"},
        "skill": "rllm-run",
    }
    return make_finding("session", changes.pop("kind", "repeated_failure"), **{**fields, **changes})


def test_the_id_is_that_of_the_content():
    assert finding().finding_id == finding().finding_id
    assert finding().finding_id.startswith("f-")
    assert len(finding().finding_id) == 18


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "missing_file"},
        {"severity": Severity.ERROR},
        {"summary": "two calls failed"},
        {"evidence": ["g-2"]},
        {"count": 4},
        {"confidence": 0.5},
        {"data": {"tool": "Read"}},
        {"skill": None},
        {"section": "start"},
        {"hint": SettingHint("learning_rate", "raise", 5.0, "flat")},
    ],
)
def test_another_content_has_another_id(change):
    assert finding(**change).finding_id != finding().finding_id


def test_evidence_is_bounded_and_said_once():
    many = finding(evidence=[*(f"e-{at}" for at in range(500)), "e-0"], count=500)
    assert len(to_frame([many])["evidence"][0]) == MAX_EVIDENCE
    assert many.count == 500
    assert finding(evidence=["a", "b", "a"]).evidence == ("a", "b")


def test_a_summary_is_bounded():
    assert len(finding(summary="x" * 9999).summary) == MAX_SUMMARY


@pytest.mark.parametrize(("given_", "kept"), [(-1.0, 0.0), (2.0, 1.0), (0.123456, 0.1235)])
def test_a_confidence_is_a_share(given_, kept):
    assert finding(confidence=given_).confidence == kept


def test_the_gravest_come_first_and_the_order_given_does_not_matter():
    low, high, middle = (finding(severity=s) for s in (Severity.INFO, Severity.ERROR, Severity.WARNING))
    frame = to_frame([low, high, middle])
    assert frame["severity"].to_list() == ["error", "warning", "info"]
    assert frame.equals(to_frame([middle, low, high]))
    assert frame.schema == FINDING_SCHEMA


def test_no_findings_are_a_frame_too():
    assert to_frame([]).schema == FINDING_SCHEMA


def test_a_hint_is_json_in_the_frame():
    (row,) = to_frame([finding(hint=SettingHint("max_steps", "raise", 2.0, "short"))]).to_dicts()
    assert json.loads(row["hint"]) == {
        "setting": "max_steps",
        "direction": "raise",
        "factor": 2.0,
        "why": "short",
    }


@given(
    st.dictionaries(st.text(max_size=5), st.one_of(st.none(), st.integers(), st.text(max_size=5)), max_size=5)
)
def test_json_text_does_not_depend_on_the_order_of_keys(value):
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))
    assert json.loads(canonical_json(value)) == value


def test_json_text_holds_no_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"x": float("nan")})
