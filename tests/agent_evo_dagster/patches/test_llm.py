"""What a model's votes lead to: a person, or a rejection; never an approval."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.patches.decisions import decide
from agent_evo_dagster.patches.evidence import Cost, GateEvidence
from agent_evo_dagster.patches.gate import judge_patches, to_frame
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.llm import Comparison, Hearing, Llm
from agent_evo_dagster.patches.propose import to_frame as rows
from agent_evo_dagster.patches.types import GateVerdict
from tests.agent_evo_dagster.patches.material import OPENED, OPTIMISATION, SECTIONS, a_patch

CRITERIA = ("clear", "useful", "safe", "honest")
BETTER, WORSE, TIE = "after", "before", "tie"


def ballot(side, **sides):
    return {**dict.fromkeys(CRITERIA, side), **sides}


def both(side, **sides):
    return Comparison(ballot(side, **sides), ballot(side, **sides))


def hearing(*comparisons, samples=None, **fields):
    given_ = {
        "service": "openai",
        "model": "m",
        "rubric": "1-x",
        "criteria": CRITERIA,
        "guards": frozenset({"safe", "honest"}),
        "samples": len(comparisons) if samples is None else samples,
        "comparisons": comparisons,
        "cost": Cost(tokens=70, calls=4, usd=0.5),
    }
    return Hearing(**{**given_, **fields})


def judged(*comparisons, **fields):
    case = Case(a_patch(), None, OPTIMISATION)
    return Llm({case.patch.id: hearing(*comparisons, **fields)}).judge(case)


def test_a_patch_that_is_always_preferred_still_needs_a_person():
    evidence = judged(*[both(BETTER)] * 6)
    measured = evidence.measured
    assert evidence.verdict is GateVerdict.NEEDS_PERSON and "the model prefers it" in evidence.reason
    assert (measured.n, measured.baseline, measured.candidate, measured.difference) == (6, 0.0, 1.0, 1.0)
    assert 0.5 < measured.low < 1 == measured.high
    assert (evidence.llm.votes, evidence.llm.better, evidence.llm.worse) == (24, 24, 0)
    assert GateEvidence.model_validate_json(evidence.as_json()) == evidence
    row = to_frame([evidence]).row(0, named=True)
    assert (row["judge"], row["verdict"], row["n"]) == ("llm", "needs_person", 6)


def test_a_patch_that_is_surely_liked_less_is_rejected():
    evidence = judged(*[both(WORSE)] * 4)
    assert evidence.verdict is GateVerdict.REJECT and evidence.measured.high < 0
    assert "prefers the section without it" in evidence.reason


def test_votes_that_go_by_position_are_ties_and_are_counted():
    evidence = judged(*[Comparison(ballot(WORSE), ballot(BETTER))] * 6)
    assert evidence.measured.difference == 0 and evidence.llm.by_position == 24 == evidence.llm.votes
    assert evidence.verdict is GateVerdict.NEEDS_PERSON and "no sure preference" in evidence.reason


def test_a_preference_in_one_order_alone_is_none():
    evidence = judged(*[Comparison(ballot(BETTER), ballot(TIE))] * 6)
    assert evidence.measured.difference == 0 and evidence.llm.by_position == 0


def test_harm_on_a_guard_rejects_what_is_liked_on_the_whole():
    evidence = judged(*[both(BETTER, safe=WORSE)] * 6)
    assert evidence.measured.low > 0 and evidence.verdict is GateVerdict.REJECT
    assert evidence.measured.regressions == {"safe": 2 / 2**6} and "less safe" in evidence.reason


@pytest.mark.parametrize(
    "comparisons",
    [
        [both(BETTER, safe=WORSE)] * 5,  # too few to be beyond noise
        [both(BETTER, safe=WORSE)] * 6 + [both(BETTER)],
        [both(BETTER, clear=WORSE)] * 6,  # no guard
    ],
)
def test_harm_that_may_be_noise_or_is_on_no_guard_is_for_a_person(comparisons):
    evidence = judged(*comparisons)
    assert evidence.verdict is GateVerdict.NEEDS_PERSON and evidence.measured.regressions == {}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"samples": 6, "stopped_early": "no money left"}, "ended early: no money left; 4 of 6 comparisons"),
        ({"samples": 6}, "4 of 6 comparisons have both orders"),
    ],
)
def test_a_comparison_that_ended_early_is_unverified_and_keeps_what_was_said(fields, said):
    evidence = judged(*[both(BETTER)] * 4, **fields)
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED and said in evidence.reason
    assert evidence.measured is None and evidence.llm.asked == 4 and evidence.llm.better == 16
    assert evidence.cost == Cost(tokens=70, calls=4, usd=0.5)


def test_with_nothing_said_at_all_it_is_unverified():
    evidence = judged(samples=6, stopped_early="no time")
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED and evidence.llm.votes == 0


SIDES = st.fixed_dictionaries(dict.fromkeys(CRITERIA, st.sampled_from([BETTER, WORSE, TIE])))


@given(st.lists(st.builds(Comparison, SIDES, SIDES), min_size=1, max_size=20))
def test_no_votes_whatever_lead_to_acceptance_and_turned_round_they_say_the_opposite(comparisons):
    turn = {BETTER: WORSE, WORSE: BETTER, TIE: TIE}
    turned = [
        Comparison(
            *({name: turn[side] for name, side in one.items()} for one in (pair.forward, pair.backward))
        )
        for pair in comparisons
    ]
    evidence, other = judged(*comparisons), judged(*turned)
    assert evidence.verdict in (GateVerdict.NEEDS_PERSON, GateVerdict.REJECT)
    assert evidence.measured.difference == pytest.approx(-other.measured.difference)
    assert evidence.measured.low <= evidence.measured.difference <= evidence.measured.high


@pytest.mark.parametrize(
    ("side", "decision"),
    [(BETTER, "wait"), (TIE, "wait"), (WORSE, "reject")],
    ids=["likes", "ties", "dislikes"],
)
def test_no_policy_approves_what_a_model_likes(propose, ledger, finding, side, decision):
    (patch,) = propose(finding()).patches
    frame = rows([patch], SECTIONS)
    prose = Llm({patch.id: hearing(*[both(side)] * 6)})
    verdicts = to_frame([prose.judge(Case(patch, None, OPTIMISATION))])
    assert decide("auto", frame, verdicts, ledger, OPENED)["decision"].to_list() == [decision]


def test_it_takes_prose_that_was_heard_and_nothing_else(propose, finding):
    patch = a_patch()
    judge = Llm({patch.id: hearing(both(TIE))})
    assert judge.takes(Case(patch, None, OPTIMISATION))
    assert not judge.takes(Case(patch, {"beta": (0.0, 0.1)}, OPTIMISATION))
    assert not judge.takes(Case(a_patch("other\n"), None, OPTIMISATION))
    (settings,) = propose(finding()).patches
    judged_ = judge_patches(rows([settings], SECTIONS), {}, more=[Llm({settings.id: hearing(both(BETTER))})])
    assert judged_["judge"].to_list() == ["none"]  # its probe was not run; no model stands in for it
