"""Excerpts of trajectories: what is shown around the evidence, how it is linked, and how it is bounded."""

from dataclasses import replace

import polars as pl
import pytest

from agent_evo_dagster.analysis.display import bounded
from agent_evo_dagster.analysis.findings import make_finding, to_frame
from agent_evo_dagster.analysis.report import render_report
from agent_evo_dagster.analysis.types import Severity
from agent_evo_dagster.analysis.views.findings import finding_list
from agent_evo_dagster.analysis.views.trail import AROUND, MOST_PLACES, PLACES_OF_ONE, Trail, trail
from tests.agent_evo_dagster.analysis.builders import call, segment_frame, step_frame
from tests.agent_evo_dagster.analysis.pages import Outline

NOTHING = {"error": None, "tool_response": None, "outcome": None, "tool_name": None}


def finding(*evidence: str, kind: str = "test"):
    return make_finding(
        "session",
        kind,
        severity=Severity.INFO,
        summary="x",
        evidence=evidence,
        count=1,
        confidence=0.5,
        data={},
    )


def trail_of(steps: pl.DataFrame, *findings) -> Trail:
    shown = finding_list(to_frame(findings), asset="session_findings").shown
    return trail(shown, steps, segment_frame(steps))


def told(found: Trail) -> list[list[int]]:
    return [[step.number for step in one.steps] for one in found.excerpts]


def calls(count: int, **fields):
    return step_frame([call("Read", {"file_path": f"/{n}"}, **fields) for n in range(count)])


def test_a_place_is_told_with_the_calls_around_it_and_leads_back():
    one = finding("st-5")
    found = trail_of(calls(12), one)
    assert told(found) == [[3, 4, 5, 6, 7]]
    (place,) = found.places[one.finding_id]
    (evidence,) = [step for step in found.excerpts[0].steps if step.findings]
    assert (place.anchor, place.words) == (evidence.anchor, "step 5 of s1: Read, success")
    assert [(back.anchor, back.words) for back in evidence.findings] == [(one.finding_id, "test")]


def test_places_that_meet_are_one_excerpt_and_every_step_is_there_once():
    found = trail_of(calls(30), finding("st-5", "st-9"), finding("st-9", kind="other"), finding("st-20"))
    assert told(found) == [[3, 4, 5, 6, 7, 8, 9, 10, 11], [18, 19, 20, 21, 22]]
    anchors = [step.anchor for one in found.excerpts for step in one.steps]
    assert len(anchors) == len(set(anchors))
    assert len(next(step for step in found.excerpts[0].steps if step.number == 9).findings) == 2


def test_trajectories_are_kept_apart():
    steps = step_frame([call("Read", {}, session=name) for name in ("a", "a", "b", "b")])
    found = trail_of(steps, finding("st-1", "st-2"))
    assert told(found) == [[0, 1], [2, 3]]
    assert [one.title for one in found.excerpts] == [
        "Session a, main agent, from step 0", "Session b, main agent, from step 2",
    ]  # fmt: skip


def test_an_event_stands_for_its_step_and_a_segment_for_where_it_begins():
    assert told(trail_of(calls(12), finding("e-6")))[0][AROUND] == 6
    assert told(trail_of(calls(12), finding("g-t-s1"))) == [[0, 1, 2]]
    assert trail_of(calls(3), finding("gone")).excerpts == ()


def test_marks_of_a_session_are_left_out_unless_they_are_the_evidence():
    steps = [call("Read", {}), {**call("", {}), **NOTHING, "kind": "lifecycle", "mark": "Stop"}] * 3
    assert told(trail_of(step_frame(steps), finding("st-2"))) == [[0, 2, 4]]
    assert 3 in told(trail_of(step_frame(steps), finding("st-3")))[0]


def test_what_was_said_is_told_beside_the_calls():
    prompt = {**call("", {}), **NOTHING, "tool_input": None, "kind": "prompt", "text": "train it"}
    found = trail_of(step_frame([prompt, call("Bash", {"command": "make"})]), finding("st-1"))
    said, done = found.excerpts[0].steps
    assert (said.title, said.texts, said.outcome) == ("Prompt", (("Text", "train it"),), "")
    assert (done.title, done.gist, done.texts[0]) == ("Bash", "make", ("Input", "make"))


def test_a_call_tells_its_outcome_the_field_that_told_it_its_time_and_its_skill():
    failed = call("Bash", {"command": "x"}, "failure", error="Exit code 3")
    (step,) = trail_of(step_frame([failed]), finding("st-0")).excerpts[0].steps
    assert step.outcome == "failure"
    assert step.facts == ("told by test", "2026-01-05 09:00:00 UTC", "took 1 s", "skill rllm-run")
    assert step.texts == (("Input", "x"), ("Error", "Exit code 3"))


def test_a_result_is_told_by_its_fields_without_those_that_say_nothing():
    result = {"stdout": "done\n", "stderr": "", "interrupted": False, "code": 0, "lines": [1]}
    (step,) = trail_of(step_frame([call("Bash", {}, response=result)]), finding("st-0")).excerpts[0].steps
    assert step.texts == (("Result", "done\n\ncode: 0\nlines: [1]"),)


@pytest.mark.parametrize("raw", ["not JSON {", "[" * 50_000, '"\\ud800"'])
def test_a_result_that_is_no_json_is_told_as_it_is_and_bounded(raw):
    steps = calls(1).with_columns(tool_response=pl.lit(raw))
    (step,) = trail_of(steps, finding("st-0")).excerpts[0].steps
    assert len(dict(step.texts)["Result"]) < 800


def test_findings_take_turns_so_that_one_with_many_places_leaves_room_for_the_others():
    many = [finding(*(f"st-{at + n}" for n in range(0, 60, 10)), kind=f"k{at}") for at in range(10)]
    wide = [finding(f"st-{at * 10 + 5}", kind=f"z{at:02}") for at in range(6, 30)]
    found = trail_of(calls(400), *many, *wide)
    assert {len(places) for places in found.places.values()} <= set(range(1, PLACES_OF_ONE + 1))
    assert len(found.places) == len(many) + len(wide)
    assert sum(bool(step.findings) for one in found.excerpts for step in one.steps) <= MOST_PLACES


def test_a_long_text_keeps_both_ends_and_says_what_is_left_out():
    text = bounded("a" * 500 + "b" * 500, 90)
    assert text == f"{'a' * 60}\n[910 characters are left out here]\n{'b' * 30}"
    assert bounded("short\u202e", 90) == "short[U+202E]"


@pytest.mark.parametrize("text", ['"' * 4000, "\U0001f600" * 4000])  # five bytes a character, and four
def test_the_page_has_a_bound_whatever_the_sessions_hold(inputs, text):
    failed = {
        **call(text, {text: text}, "failure", error=text),
        "outcome_reason": text,
        "trajectory_id": text,
    }
    steps = step_frame([failed] * 400)
    named = [finding(*(f"st-{at + n}" for n in (0, 6, 12)), kind=f"k{at:02}") for at in range(0, 400, 5)]
    frames = {"steps": steps, "segments": segment_frame(steps), "session_findings": to_frame(named)}
    html = render_report(replace(inputs, **frames)).html
    assert html.count('class="step evidence"') == MOST_PLACES
    assert len(html.encode()) < 1_500_000


def test_every_link_within_the_page_has_its_place(inputs):
    outline = Outline(render_report(inputs).html)
    wanted = {value[1:] for value in outline.values("href") if value.startswith("#")}
    assert any(name.startswith("step-") for name in wanted)
    assert wanted <= set(outline.values("id"))


def test_the_excerpts_are_folded_and_opened_without_a_script(inputs):
    outline = Outline(render_report(inputs).html)
    folds = [(attributes, parents) for tag, attributes, parents in outline.elements if tag == "details"]
    steps = [attributes for attributes, parents in folds if parents[-1] == "li"]
    assert "script" not in outline.tags
    assert outline.tags.count("summary") == len(folds)
    open_, closed = ([one for one in steps if ("open" in one) is state] for state in (True, False))
    assert len(open_) == outline.values("class").count("step evidence") > 0
    assert len(closed) == outline.values("class").count("step") > 0
