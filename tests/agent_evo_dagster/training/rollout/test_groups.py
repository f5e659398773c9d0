from dataclasses import replace

import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.environments.types import Brief, Score, Task, ToolUse, components
from agent_evo_dagster.training.rollout.groups import Rules, attempt_groups, refill_seed
from agent_evo_dagster.training.rollout.taxonomy import ENDINGS, failed, trains
from agent_evo_dagster.training.rollout.types import Limits, Sampling, Token, Trajectory
from agent_evo_dagster.training.types import Finish

LIMITS = Limits(3, 40, 96)
SAMPLING = Sampling(1.0, 5)


class Episode(Brief):
    def __init__(self, task):
        self.task, self.closed = task, 0

    def score(self):
        if self.task.answer == "unscorable":
            raise ValueError("no judge")
        return Score(components(correct=1.0), correct=True)

    def tool_use(self):
        return ToolUse(calls=1, errors=0)

    def close(self):
        self.closed += 1


class Script:
    """An engine whose rollouts of a task end as its script says, one word after the other."""

    def __init__(self, **ends):
        self.ends = {name: list(words) for name, words in ends.items()}
        self.asked, self.seeds, self.episodes = [], [], []

    def __call__(self, episodes, limits, sampling):
        self.asked.append([episode.task.task_id for episode in episodes])
        self.seeds.append(sampling.seed)
        self.episodes += episodes
        return [self.trajectory(Finish(self.ends[episode.task.task_id].pop(0))) for episode in episodes]

    @staticmethod
    def trajectory(finish):
        tokens = (Token(1, -0.1, sampled=True), Token(2, 0.0, sampled=False))
        return Trajectory((9,), tokens, finish, 1, "because" if failed(finish) else None)


def run(script, *names, size=2, **rules):
    tasks = [Task(name, "?", "unscorable" if name == "u" else "1") for name in names]
    return attempt_groups(
        script, Episode, tasks, limits=LIMITS, sampling=SAMPLING, rules=Rules(size, **rules)
    )


def test_every_finish_has_an_ending_and_a_rule():
    assert set(ENDINGS) == set(Finish)
    assert [finish for finish in Finish if failed(finish)] == [Finish.TIMEOUT, Finish.INFRA_ERROR]


@pytest.mark.parametrize(
    ("finish", "score", "mask"),
    [("stop", 1, 1), ("tool_limit", 1, 1), ("length", 1, 0), ("timeout", 0, 0), ("infra_error", 0, 0)],
)
def test_what_trains_is_told_by_the_finish_and_the_rule_for_truncated_rollouts(finish, score, mask):
    assert trains(Finish(finish), "score") == score
    assert trains(Finish(finish), "mask") == mask


def test_nothing_fails_and_nothing_is_attempted_again():
    script = Script(a=["stop", "length"], b=["stop", "tool_limit"])
    batch = run(script, "a", "a", "b", "b", refills=3)
    assert len(script.asked) == 1
    assert batch.usable == (True,) * 4
    assert batch.metrics() == {
        "rollout/usable": 1.0,
        "rollout/groups_skipped": 0.0,
        "rollout/refilled": 0.0,
        "rollout/refilled_timeout": 0.0,
        "rollout/refilled_infra_error": 0.0,
        "rollout/shortened": 0.0,
        "rollout/drift": 0.0,
    }


def test_drift_is_the_share_of_rollouts_whose_policy_was_fed_other_ids():
    good = Script.trajectory(Finish.STOP)
    drifted = [replace(good, faithful=faithful) for faithful in (True, False, True, True)]
    batch = run(lambda *_: drifted, "a", "a", "b", "b")
    assert batch.metrics()["rollout/drift"] == 0.25


def test_failed_rows_are_attempted_again_in_their_place_with_other_luck():
    script = Script(a=["infra_error", "stop", "stop"], b=["stop", "timeout", "stop"])
    batch = run(script, "a", "a", "b", "b", refills=2)
    assert script.asked == [["a", "a", "b", "b"], ["a", "b"]]
    assert script.seeds == [5, refill_seed(5, 1)]
    assert [each.trajectory.finish for each in batch.rollouts] == [Finish.STOP] * 4
    assert [each.task.task_id for each in batch.rollouts] == ["a", "a", "b", "b"]
    assert batch.abandoned == {"infra_error": 1, "timeout": 1}
    assert batch.sampled == 6
    assert batch.metrics()["rollout/refilled_timeout"] == 1


def test_a_row_that_fails_every_time_is_masked_and_not_a_reward_of_0():
    script = Script(a=["infra_error", "stop", "infra_error"], b=["stop"] * 2)
    batch = run(script, "a", "a", "b", "b", refills=1)
    assert batch.rollouts[0].score is None
    assert batch.usable == (False, False, True, True)
    assert batch.metrics()["rollout/groups_skipped"] == 1
    assert batch.metrics()["rollout/usable"] == 0.5


def test_a_group_of_three_with_two_usable_rows_trains_on_those():
    batch = run(Script(a=["infra_error", "stop", "stop"]), "a", "a", "a", size=3)
    assert batch.usable == (False, True, True)


def test_rollouts_that_were_cut_may_be_masked():
    batch = run(Script(a=["length", "stop", "stop"]), "a", "a", "a", size=3, truncated="mask")
    assert batch.usable == (False, True, True)
    assert batch.rollouts[0].score is not None


def test_an_environment_that_cannot_score_has_failed_and_its_row_stays():
    batch = run(Script(u=["stop"] * 2, a=["stop"] * 2), "u", "u", "a", "a")
    assert [each.trajectory.finish for each in batch.rollouts] == [Finish.INFRA_ERROR] * 2 + [Finish.STOP] * 2
    assert batch.rollouts[0].trajectory.error == "ValueError: no judge"


def test_a_batch_in_which_everything_failed_ends_the_run_with_its_reason():
    with pytest.raises(TrainingError, match=r"All 2 rollouts .* infra_error: because"):
        run(Script(a=["infra_error"] * 4), "a", "a", refills=1)


def test_every_episode_is_closed_once():
    script = Script(a=["infra_error", "stop", "stop"])
    run(script, "a", "a", refills=1)
    assert [episode.closed for episode in script.episodes] == [1, 1, 1]
