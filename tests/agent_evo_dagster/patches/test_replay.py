"""Prose is replayed on sessions that came after what made it; it never lets a patch in by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import GateError
from agent_evo_dagster.patches import replay_self_test as own_test
from agent_evo_dagster.patches.document import section_hash
from agent_evo_dagster.patches.evidence import GateEvidence
from agent_evo_dagster.patches.gate import to_frame
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.naming import named_troubles
from agent_evo_dagster.patches.replay import LaterSession, Material, Replay
from agent_evo_dagster.patches.replay_self_test import replay_self_test
from agent_evo_dagster.patches.types import GateVerdict
from tests.agent_evo_dagster.patches.material import a_patch

KEY_ERROR = ("Bash", "Exit code 1 | KeyError: 'rate' not set")
OTHER = ("Bash", "Exit code 2 | ValueError: <n> is too small")
ADVICE = '- When "Bash" fails with "KeyError: \'rate\' not set": set the rate first.\n'
SECTION = "## When it fails\n\n- Stop.\n"


def case(body=ADVICE, base=SECTION, action="append"):
    patch = a_patch(body).model_copy(update={"action": action, "base_hash": section_hash(base)})
    return Case(patch, None, base)


def session(name, *failures):
    return LaterSession(name, tuple(frozenset({one}) for one in failures))


def judged(asked, *sessions, own=("s0",)):
    material = Material("round-0001", frozenset(own), ("round-0002",), sessions)
    return Replay({asked.patch.id: material}).judge(asked)


def test_advice_that_names_later_failures_has_numbers_and_still_needs_a_person():
    evidence = judged(case(), session("s1", KEY_ERROR, OTHER), session("s2", KEY_ERROR), session("s3", OTHER))
    assert evidence.verdict is GateVerdict.NEEDS_PERSON
    measured = evidence.measured
    assert (measured.n, measured.baseline, measured.difference) == (3, 0.0, 0.5)
    assert 0 < measured.low < 0.5 < measured.high <= 1
    assert (evidence.replay.failures, evidence.replay.named_before, evidence.replay.named_after) == (4, 0, 2)
    assert "it names failures of later sessions" in evidence.reason
    assert GateEvidence.model_validate_json(evidence.as_json()) == evidence
    row = to_frame([evidence]).row(0, named=True)
    assert (row["judge"], row["verdict"], row["n"]) == ("replay", "needs_person", 3)


def test_what_the_section_says_already_is_no_gain():
    evidence = judged(case(base=SECTION + ADVICE), session("s1", KEY_ERROR), session("s2", OTHER))
    assert (evidence.measured.baseline, evidence.measured.difference) == (0.5, 0.0)
    assert "no later session shows that it helps" in evidence.reason


def test_advice_on_other_trouble_covers_nothing_and_its_interval_has_a_width():
    evidence = judged(case(), *(session(f"s{n}", OTHER) for n in range(1, 9)))
    assert (evidence.measured.difference, evidence.measured.low) == (0.0, 0.0)
    assert 0.2 < evidence.measured.high < 0.5


def test_many_sessions_are_bootstrapped():
    sessions = [session(f"s{n}", KEY_ERROR if n % 3 else OTHER, OTHER) for n in range(1, 31)]
    measured = judged(case(), *sessions).measured
    assert measured.difference == pytest.approx(1 / 3)
    assert 0.2 < measured.low < measured.difference < measured.high < 0.45


def test_taking_out_what_names_failures_is_rejected_and_the_sessions_are_named():
    gone = case(SECTION, SECTION + ADVICE, "replace")
    evidence = judged(gone, session("s1", KEY_ERROR), session("s2", KEY_ERROR))
    assert evidence.verdict is GateVerdict.REJECT
    assert sorted(evidence.measured.regressions) == ["s1", "s2"]
    assert "names fewer failures" in evidence.reason


@pytest.mark.parametrize(
    ("sessions", "said"),
    [
        (["s0", "s1"], "1 sessions were there when it was made: s0"),
        (["s1", "s1"], "1 sessions are given twice: s1"),
    ],
)
def test_sessions_that_cannot_judge_make_it_unverified(sessions, said):
    evidence = judged(case(), *(session(name, KEY_ERROR) for name in sessions))
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED
    assert (evidence.problems, evidence.measured) == ((said,), None)


@pytest.mark.parametrize(
    ("sessions", "said"),
    [([], "no session came after round-0001"), ([session("s1")], "1 sessions came after round-0001, none")],
)
def test_without_later_failures_nothing_is_measured(sessions, said):
    evidence = judged(case(), *sessions)
    assert (evidence.verdict, evidence.measured) == (GateVerdict.NEEDS_PERSON, None)
    assert said in evidence.reason


def test_settings_and_patches_without_material_are_not_taken():
    judge, asked = Replay(), case()
    assert not judge.takes(asked)
    assert not Replay({asked.patch.id: Material("round-0001", frozenset())}).takes(
        Case(asked.patch, {"learning_rate": (2e-5, 1e-4)}, asked.base)
    )


@pytest.mark.parametrize(
    ("line", "trouble", "named"),
    [
        ('- There is no skill "rllm-runs"; the nearest is "rllm-run".', ("skill", "rllm-runs"), True),
        ('- Look for "a.yaml" in "/p/conf", not in "/p/configs".', ("/p/configs", "/p/conf"), True),
        ("- `Bash` with KeyError: 'RATE' not set: set it.", KEY_ERROR, True),
        ("- KeyError: 'rate' not set happens.", KEY_ERROR, False),  # of which tool?
        ("- Bash commands may fail with Exit code 1.", KEY_ERROR, False),
        ("- Be careful with Bash: errors happen.", KEY_ERROR, False),
        ('- When "Bash" fails with "Exit code 2 ValueError: N is too small": more.', OTHER, True),
        ("", KEY_ERROR, False),
    ],
)
def test_a_line_names_a_trouble_where_it_holds_all_that_tells_it_from_others(line, trouble, named):
    assert named_troubles(f"## Title\n\n{line}\n", {trouble}) == (
        frozenset({trouble}) if named else frozenset()
    )


def test_words_of_two_lines_do_not_make_one_name():
    assert not named_troubles("- Bash is a tool.\n- KeyError: 'rate' not set is an error.\n", {KEY_ERROR})


def test_a_line_that_lists_many_errors_names_none():
    errors = {("Bash", f"Exit code 1 | Number{letter}Error: no {letter}") for letter in "ABCDE"}
    listed = "; ".join(end.split(" | ")[1] for _, end in sorted(errors))
    assert named_troubles(f"- Bash fails with {listed}.\n", errors) == frozenset()
    few = sorted(errors)[:2]
    assert named_troubles(f"- Bash fails with {few[0][1]} or {few[1][1]}.\n", errors) == frozenset(few)


@given(st.text(max_size=200), st.lists(st.tuples(st.text(max_size=20), st.text(max_size=40)), max_size=5))
def test_any_text_names_only_what_was_asked_for_and_always_the_same(text, troubles):
    found = named_troubles(text, troubles)
    assert found <= set(troubles)
    assert named_troubles(text, list(reversed(troubles))) == found


def test_the_judge_tests_itself_on_known_patches():
    assert replay_self_test() >= 5


def test_a_judge_that_believes_lists_of_errors_fails_its_own_test(monkeypatch):
    monkeypatch.setattr("agent_evo_dagster.patches.naming.MAX_NAMED", 99)
    with pytest.raises(GateError, match="a list of all errors"):
        replay_self_test()


def test_a_judge_that_sees_no_difference_fails_its_own_test(monkeypatch):
    monkeypatch.setattr("agent_evo_dagster.patches.replay.named_troubles", lambda *_: frozenset())
    with pytest.raises(GateError, match="advice on what fails again"):
        own_test.replay_self_test()
