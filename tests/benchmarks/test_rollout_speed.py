"""The benchmark of rollouts: the ways do the same work, and figures and goals are what they say."""

import json

import pytest

from agent_evo_dagster.training.policy.checkpoints import EMBEDDED
from benchmarks import rollout_speed
from benchmarks.rollout_speed import Speed, ratios, speeds

pytest.importorskip("trl", reason="the extra hf is not installed")

from benchmarks.rollout_speed_trl import TrlLoop
from benchmarks.rollout_speed_ways import Pass, Ways


@pytest.fixture(scope="module")
def ways() -> Ways:
    from agent_evo_dagster.training.policy.checkpoints import load_policy

    return Ways(load_policy(EMBEDDED), 24)


def test_trls_loop_does_the_same_work(ways: Ways) -> None:
    conversations = [ways.environment.episode(task).opening() for task in ways.tasks]
    loop = TrlLoop(ways.policy, conversations, do_sample=False, top_k=None)
    loop.run()
    ours = ways.roll_out(0.0, 0)
    same = [
        (ids, mask) == (rollout.completion_ids, rollout.response_mask)
        for ids, mask, rollout in zip(loop.completions, loop.tool_masks, ours, strict=True)
    ]
    assert {rollout.turns for rollout in ours} == {1, 2}
    assert sum(same) >= 23  # a call that cannot be read ends a rollout of TRL's
    assert loop.seconds > 0


def test_the_floor_counts_what_ours_sampled(ways: Ways) -> None:
    floor, ours = ways.floor(1), ways.ours(1)
    assert floor.sampled == ours.sampled > 24
    assert floor.seconds > 0


def test_a_seed_counts_with_its_best_pass_and_seeds_add_up() -> None:
    times = iter([3.0, 5.0, 1.0, 2.0, 4.0, 9.0])  # two seeds, in three passes
    found = speeds({"ours": lambda seed: Pass(next(times), 10 + seed)}, 8, seeds=2, passes=3)
    assert found == {"ours": Speed(seconds=3.0, rollouts=16, sampled=21)}
    assert found["ours"].figures()["tokens_per_s"] == 7


def test_goals_are_ratios_of_one_run() -> None:
    def speed(seconds: float) -> Speed:
        return Speed(seconds, 64, 1600)

    found = {"ours": speed(1), "trl": speed(1.5), "one_at_a_time": speed(12), "floor": speed(0.8)}
    assert ratios(found) == {"x_trl": 1.5, "x_one_at_a_time": 12.0, "of_floor": 0.8}
    assert rollout_speed.met(ratios(found))
    for missed in ({"trl": speed(1.4)}, {"one_at_a_time": speed(11.9)}):
        assert not rollout_speed.met(ratios({**found, **missed}))


def test_memory_is_that_of_a_process_that_did_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    figures = rollout_speed.memory_in_a_process("ours", 4, None)
    assert json.loads(json.dumps(figures)).keys() == {"before_mb", "peak_mb"}
    assert 100 < figures["before_mb"] <= figures["peak_mb"]
