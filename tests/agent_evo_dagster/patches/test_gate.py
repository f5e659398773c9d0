"""The gate accepts what is surely better and surely worse nowhere, and trusts no doubtful numbers."""

import math
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.errors import GateError
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.patches.acceptance.ungated import Ungated
from agent_evo_dagster.patches.evidence import GateEvidence, ProbeFacts
from agent_evo_dagster.patches.gate import judge_patches, judge_probe, probed, to_frame
from agent_evo_dagster.patches.propose import to_frame as patch_frame
from agent_evo_dagster.patches.self_test import self_test
from agent_evo_dagster.patches.types import PATCH_EVALUATION_SCHEMA, GateVerdict
from tests.agent_evo_dagster.patches.material import a_patch, judge_tasks, rollouts

TASKS = 40
FACTS = ProbeFacts(init_sha256="a" * 64, seeds=(0, 1), tasks=TASKS, samples=4, steps=8)


@pytest.fixture
def patch(propose, finding):
    return propose(finding()).patches[0]


@pytest.fixture
def better(probe_rows):
    return probe_rows([0.25] * TASKS, [0.75] * TASKS)


def change(rows, where, **values):
    return rows.with_columns(
        pl.when(where).then(pl.lit(value, rows.schema[name])).otherwise(pl.col(name)).alias(name)
        for name, value in values.items()
    )


def first_rollout(rows, policy="candidate"):
    task = rows["task_id"].min()
    return (
        (pl.col("policy") == policy)
        & (pl.col("task_id") == task)
        & (pl.col("seed") == 0)
        & (pl.col("sample") == 0)
    )


def test_a_better_candidate_is_accepted_with_its_numbers(patch, better):
    evidence = judge_probe(patch, better, settings={"learning_rate": (2e-5, 1e-4)}, facts=FACTS)
    assert evidence.verdict is GateVerdict.ACCEPT
    measured = evidence.measured
    assert (measured.n, measured.baseline, measured.candidate, measured.difference) == (
        TASKS,
        0.25,
        0.75,
        0.5,
    )
    assert 0 < measured.low <= 0.5 <= measured.high
    assert measured.regressions == {}
    assert [(one.baseline, one.candidate, one.difference) for one in measured.by_seed] == [
        (0.25, 0.75, 0.5)
    ] * 2
    assert evidence.cost.rollouts == 2 * 2 * TASKS * 4
    assert evidence.cost.training_steps == 2 * 2 * 8
    assert GateEvidence.model_validate_json(evidence.model_dump_json()) == evidence


def test_the_same_rows_in_any_order_give_the_same_evidence(patch, better):
    shuffled = better.sample(fraction=1, shuffle=True, seed=3)
    assert judge_probe(patch, better).model_dump_json() == judge_probe(patch, shuffled).model_dump_json()


def test_no_difference_is_rejected(patch, probe_rows):
    shares = [0.5, 0.25] * (TASKS // 2)
    assert judge_probe(patch, probe_rows(shares, shares)).verdict is GateVerdict.REJECT


def test_a_better_mean_with_one_task_lost_is_rejected_and_the_task_named(patch, probe_rows):
    rows = probe_rows([1.0] + [0.25] * (TASKS - 1), [0.0] + [1.0] * (TASKS - 1))
    evidence = judge_probe(patch, rows)
    lost = judge_tasks(1)[0]
    assert evidence.measured.low > 0
    assert evidence.verdict is GateVerdict.REJECT
    assert list(evidence.measured.regressions) == [lost]
    assert f"{lost} 1.00 -> 0.00" in evidence.reason


def test_a_task_down_from_091_to_082_is_named_when_scores_carry_no_noise(patch, probe_rows):
    rows = probe_rows([0.0] * TASKS, [1.0] * TASKS)
    lost = judge_tasks(1)[0]
    for policy, reward in (("baseline", 0.91), ("candidate", 0.82)):
        rows = change(rows, (pl.col("task_id") == lost) & (pl.col("policy") == policy), reward=reward)
    evidence = judge_probe(patch, rows)
    assert evidence.verdict is GateVerdict.REJECT
    assert f"{lost} 0.91 -> 0.82" in evidence.reason


def test_an_effect_that_only_one_seed_shows_is_rejected(patch, probe_rows):
    up = probe_rows([0.25] * TASKS, [1.0] * TASKS, seeds=(0,))
    down = probe_rows([0.5] * TASKS, [0.25] * TASKS, seeds=(1,))
    evidence = judge_probe(patch, pl.concat([up, down]))
    assert evidence.measured.difference > 0.2
    assert evidence.measured.low < 0
    assert evidence.verdict is GateVerdict.REJECT


def test_a_task_that_was_also_proposed_from_makes_it_unverified(patch, better):
    shared = better["task_id"][0]
    evidence = judge_probe(patch, better, proposing=[shared, "other"])
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED
    assert f"also used for proposing: {shared}" in evidence.reason


def test_a_task_of_another_split_makes_it_unverified(patch, probe_rows):
    stray = next(f"problem-{n}" for n in range(100) if split_of(f"problem-{n}") == "train")
    rows = probe_rows([0.25] * TASKS, [0.75] * TASKS, tasks=[*judge_tasks(TASKS - 1), stray])
    evidence = judge_probe(patch, rows)
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED
    assert f"not of the split 'judge': {stray}" in evidence.reason
    assert evidence.measured is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"reward": math.nan}, "not finite"),
        ({"reward": math.inf}, "not finite"),
        ({"reward": None}, "not finite"),
        ({"correct": None}, "not finite"),
        ({"finish": "infra_error"}, "infrastructure error"),
        ({"policy": "other"}, "other policies"),
        ({"sample": 1}, "share policy, seed, task and sample"),
        ({"sample": 9}, "lacks 1 rollouts"),
        ({"seed": 5}, "lacks 1 rollouts"),
    ],
)
def test_one_doubtful_rollout_makes_it_unverified(patch, better, values, said):
    evidence = judge_probe(patch, change(better, first_rollout(better), **values))
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED
    assert said in evidence.reason
    assert evidence.cost.rollouts == better.height


@pytest.mark.parametrize("policy", ["baseline", "candidate"])
def test_a_missing_task_makes_it_unverified(patch, better, policy):
    task = better["task_id"][0]
    rows = better.filter(~((pl.col("policy") == policy) & (pl.col("task_id") == task)))
    evidence = judge_probe(patch, rows)
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED
    assert f"the {policy} lacks 8 rollouts, of tasks {task}" in evidence.reason


def test_a_seed_that_lacks_a_task_on_both_sides_makes_it_unverified(patch, better):
    rows = better.filter(~((pl.col("seed") == 1) & (pl.col("task_id") == better["task_id"][0])))
    assert "not every seed has every task" in judge_probe(patch, rows).reason


def test_no_rows_make_it_unverified(patch, better):
    for rows in (
        better.clear(),
        better.filter(pl.col("policy") == "baseline"),
        better.with_columns(mode=pl.lit("greedy")),
    ):
        evidence = judge_probe(patch, rows)
        assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED
        assert "no rollouts of the" in evidence.reason


def test_too_few_tasks_make_it_unverified(patch, probe_rows):
    assert "19 tasks are too few" in judge_probe(patch, probe_rows([0.0] * 19, [1.0] * 19)).reason


def test_too_few_rollouts_to_see_any_regression_make_it_unverified(patch, probe_rows):
    evidence = judge_probe(patch, probe_rows([0.0] * TASKS, [1.0] * TASKS, samples=2))
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED
    assert "at least 6 are needed" in evidence.reason


def test_a_budget_that_ran_out_keeps_what_was_paid_for(patch, better):
    half = better.filter(pl.col("seed") == 0)
    facts = FACTS.model_copy(update={"stopped_early": "the time budget of 60 s was used"})
    evidence = judge_probe(patch, half, facts=facts)
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED
    assert "the time budget of 60 s was used" in evidence.reason
    assert evidence.cost.rollouts == half.height
    assert evidence.facts == facts


@pytest.mark.parametrize(
    ("planned", "said"),
    [
        ({"seeds": (0, 1, 2)}, "seeds [0, 1, 2] were planned"),
        ({"tasks": 41}, "41 tasks were planned"),
        ({"samples": 5}, "5 samples of each task were planned"),
    ],
)
def test_rows_that_are_not_what_was_planned_make_it_unverified(patch, better, planned, said):
    evidence = judge_probe(patch, better, facts=FACTS.model_copy(update=planned))
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED
    assert said in evidence.reason


def test_every_doubt_is_named(patch, better):
    rows = change(better, first_rollout(better), reward=math.nan)
    evidence = judge_probe(
        patch, rows, proposing=[better["task_id"][5]], facts=FACTS.model_copy(update={"tasks": 9})
    )
    assert len(evidence.problems) == 3


def test_greedy_rows_beside_the_sampled_ones_do_not_count(patch, better):
    greedy = better.filter(pl.col("sample") == 0).with_columns(mode=pl.lit("greedy"), reward=pl.lit(0.0))
    both = judge_probe(patch, pl.concat([better, greedy]), facts=FACTS)
    assert both.measured == judge_probe(patch, better, facts=FACTS).measured
    assert both.cost.rollouts == better.height + greedy.height


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=20, max_size=20))
def test_a_patch_and_its_reverse_are_never_both_accepted(shares):
    flat = [0.5] * len(shares)
    verdicts = [
        judge_probe(a_patch(), rollouts(*sides, seeds=(0, 1), samples=4)).verdict
        for sides in ((flat, shares), (shares, flat))
    ]
    assert verdicts.count(GateVerdict.ACCEPT) <= 1


def test_noise_passes_the_gate_about_as_rarely_as_its_interval_says(patch):
    rng = random.Random(2)
    accepted = 0
    for _ in range(60):
        rows = rollouts([0.5] * TASKS, [0.5] * TASKS).with_columns(
            pl.Series("reward", [float(rng.random() < 0.5) for _ in range(2 * 2 * TASKS * 4)])
        )
        accepted += judge_probe(patch, rows).verdict is GateVerdict.ACCEPT
    assert accepted <= 4


def test_prose_needs_a_person_and_settings_need_their_probe(propose, finding, sections, better):
    (settings_patch,) = propose(finding()).patches
    frame = patch_frame([settings_patch], sections)
    judged = judge_patches(frame, {settings_patch.id: better}, facts={settings_patch.id: FACTS})
    assert judged.schema == PATCH_EVALUATION_SCHEMA
    row = judged.row(0, named=True)
    assert (row["judge"], row["verdict"], row["n"]) == ("probe", "accept", TASKS)
    assert GateEvidence.model_validate_json(row["evidence"]).settings == {"learning_rate": (2e-5, 1e-4)}
    assert judge_patches(frame, {})["verdict"].to_list() == ["reject_unverified"]


def test_a_probe_does_not_help_a_patch_that_also_changes_prose(prose, sections, better):
    judged = judge_patches(patch_frame([prose], sections), {prose.id: better})
    assert judged["verdict"].to_list() == ["needs_person"]
    assert judged["judge"].to_list() == ["none"]
    assert judged["difference"].to_list() == [None]


def test_what_a_probe_sets_itself_is_for_a_person_and_not_compared_with_itself(propose, finding, sections):
    (steps,) = propose(finding("max_steps", "lower", 1.5)).patches
    judged = judge_patches(patch_frame([steps], sections), {}).row(0, named=True)
    assert (judged["verdict"], judged["judge"]) == ("needs_person", "none")
    assert "a probe sets max_steps itself" in judged["reason"]
    of_both = {"max_steps": (10, 20), "learning_rate": (2e-5, 1e-4)}
    assert (probed(None), probed({"max_steps": (10, 20)}), probed(of_both)) == (False, False, True)


def test_a_patch_to_a_skill_that_is_no_target_is_rejected_whatever_its_rows_say(
    propose, finding, sections, better
):
    (patch,) = propose(finding()).patches
    frame = patch_frame([patch], sections)
    judged = judge_patches(frame, {patch.id: better}, facts={patch.id: FACTS}, targets={"rllm-run"})
    row = judged.row(0, named=True)
    assert (row["verdict"], row["judge"]) == ("reject", "none")
    assert "rllm-config is no skill that rounds may optimise" in row["reason"]
    allowed = judge_patches(frame, {patch.id: better}, facts={patch.id: FACTS}, targets={"rllm-config"})
    assert allowed["verdict"].to_list() == ["accept"]


def test_rows_of_an_unknown_patch_are_refused(propose, finding, sections, better):
    with pytest.raises(GateError, match="p-unknown"):
        judge_patches(patch_frame(propose(finding()).patches, sections), {"p-unknown": better})


def test_no_patches_give_a_typed_frame():
    assert to_frame([]).schema == PATCH_EVALUATION_SCHEMA


def test_the_judge_tells_good_from_bad():
    results = self_test()
    assert {result.found for result in results} == {GateVerdict.ACCEPT, GateVerdict.REJECT}


def test_a_judge_that_accepts_everything_fails_its_own_test():
    with pytest.raises(GateError, match="a worse policy: accept instead of reject"):
        self_test(Ungated())


def test_a_judge_that_rejects_everything_fails_its_own_test():
    class Never:
        name = "never"

        def verdict(self, measured):
            return GateVerdict.REJECT, "no"

    with pytest.raises(GateError, match="a better policy: reject instead of accept"):
        self_test(Never())
