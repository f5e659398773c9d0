"""The figures of the closed loop over seeds, and its goals."""

import json
from dataclasses import replace

import pytest

from benchmarks.closed_loop_figures import (
    accuracy,
    adopted,
    advantage,
    change,
    change_over_seeds,
    drawn,
    fresh_advantage,
    fresh_change_over_seeds,
    goals,
)
from benchmarks.closed_loop_report import json_line, table
from tests.benchmarks.trials import FAST, RAISED, SLOW, trial


def goal(trials, name):
    return next(one for one in goals(trials) if one.name == name)


def test_a_change_is_paired_over_the_tasks_of_a_seed():
    rise = change(trial(), 1)
    assert rise.n == 20
    assert rise.mean == pytest.approx(0.5)
    assert 0 < rise.low < 0.5 < rise.high


def test_an_interval_over_seeds_is_wider_where_seeds_disagree():
    alike = [trial(seed=seed, solved=(2, 4, 9, 14)) for seed in range(5)]
    apart = [trial(seed=seed, solved=(2, 4, 9, last)) for seed, last in enumerate((4, 9, 14, 19, 20))]
    narrow, wide = change_over_seeds(alike, 1), change_over_seeds(apart, 1)
    assert wide.high - wide.low > narrow.high - narrow.low
    assert accuracy(alike, 3).mean == pytest.approx(0.7)


def test_an_advantage_pairs_the_seeds_that_both_arms_have():
    gated = [trial(seed=seed, solved=(2, 4, 9, 14)) for seed in (0, 1)]
    frozen = [trial("frozen", seed=seed, solved=(2, 4, 6, 8)) for seed in (1, 2)]
    assert advantage(gated, frozen).mean == pytest.approx(0.3)


def test_on_fresh_tasks_the_seed_is_the_unit():
    gated = [trial(seed=seed, fresh=(4, 14 + seed)) for seed in range(3)]
    frozen = [trial("frozen", seed, fresh=(4, 9)) for seed in range(3)]
    rise = fresh_change_over_seeds(gated)
    assert (rise.n, rise.mean) == (3, pytest.approx(0.55))
    assert 0.45 < rise.low < 0.55 < rise.high < 0.65
    assert fresh_advantage(gated, frozen).mean == pytest.approx(0.3)


def test_a_rise_that_fresh_tasks_do_not_show_misses_the_goal():
    assert goal([trial()], "accuracy_rises_on_fresh_tasks").met
    assert not goal([trial(fresh=(9, 9))], "accuracy_rises_on_fresh_tasks").met


def test_a_patch_counts_as_trained_with_only_where_the_next_round_has_its_value():
    assert adopted(trial()) == [RAISED]
    assert adopted(trial(settings=(SLOW, SLOW, SLOW))) == []
    assert adopted(trial(patches=[replace(RAISED, decision="wait")])) == []
    assert adopted(trial(patches=[replace(RAISED, round=3)])) == []  # no round follows


def test_a_rise_within_the_interval_does_not_count_and_one_seed_of_five_may_fail():
    hardly = [trial(seed=0, solved=(2, 9, 9, 10))]
    surely = [trial(seed=seed) for seed in range(1, 5)]
    assert goal([*hardly, *surely], "accuracy_rises").met
    assert not goal([*hardly, *surely[1:], trial(seed=1, solved=(2, 9, 9, 8))], "accuracy_rises").met


def test_the_control_must_keep_every_weight_and_stay_where_it_started():
    still = trial("zero", solved=(4, 4, 4, 4), settings=[{"learning_rate": 0}] * 3, weights_changed=0)
    assert goal([still], "control_stays").met
    assert not goal([still, trial("zero", 1, solved=(4, 4, 4, 4), weights_changed=1)], "control_stays").met
    assert not goal([still, trial("zero", 1, solved=(4, 4, 9, 14), weights_changed=0)], "control_stays").met


def test_arms_that_differ_before_the_first_patch_can_act_are_found():
    frozen = trial("frozen", settings=(SLOW, SLOW, SLOW))
    assert goal([trial(), frozen], "arms_share_round_1").met
    assert not goal(
        [trial(settings=(FAST, FAST, FAST), checkpoints="bxyz"), frozen], "arms_share_round_1"
    ).met


def test_the_last_line_is_json_and_the_table_shows_each_trial_and_goal():
    trials = [trial(), trial("zero", solved=(4, 4, 4, 4), patches=(), weights_changed=0)]
    figures = json.loads(json_line(trials, "c0de"))
    assert "\n" not in json_line(trials, "c0de")
    assert figures["passed"]
    assert figures["arms"]["gated"]["seeds"]["0"]["accuracy"] == [0.1, 0.2, 0.45, 0.7]
    assert figures["arms"]["gated"]["seeds"]["0"]["patches"][0]["trained_with"]
    shown = table(trials)
    assert "learning_rate 2e-05 -> 0.0001: +0.100 [+0.050, +0.150], accept, approve" in shown
    assert shown.count("met   ") == 4
    assert "MISSED" not in shown


def test_a_missed_goal_is_said_in_the_table_and_in_the_json():
    trials = [trial(solved=(4, 4, 4, 4))]
    assert "MISSED" in table(trials)
    assert not json.loads(json_line(trials, "c0de"))["passed"]


def test_the_drawing_tells_the_ends_in_words_and_is_the_same_bytes_again():
    trials = [trial(), trial("frozen", seed=0, solved=(2, 4, 6, 8))]
    plot = drawn(trials)
    assert "gated ends at 0.700" in plot.alt
    assert "frozen ends at 0.400" in plot.alt
    assert plot.svg == drawn(trials).svg
