import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.training import placement
from agent_evo_dagster.training.backends.hf import train
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.engines import LocalEngine
from agent_evo_dagster.training.environments.types import Score
from agent_evo_dagster.training.policy.checkpoints import load_policy
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA

TINY = TrainingConfig(
    learning_rate=1e-3, warmup_steps=0, max_steps=2, prompts_per_step=2, num_generations=4, seed=5
)


@pytest.fixture(autouse=True)
def quiet_trl(monkeypatch, torch):
    pytest.importorskip("trl", reason="the extra hf is not installed")
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")


class Watch:
    def __init__(self):
        self.steps, self.timings, self.ticks = [], [], 0

    def tick(self):
        self.ticks += 1

    def step(self, step, metrics, timings):
        assert step == len(self.steps) + 1
        self.steps.append(metrics)
        self.timings.append(timings)


class Changed:
    """The arithmetic environment with something about its episodes changed."""

    def __init__(self, environment, change):
        self.inner, self.change, self.count = environment, change, 0
        self.limits, self.reward_names = environment.limits, environment.reward_names
        self.tasks, self.task = environment.tasks, environment.task

    def episode(self, task):
        episode = self.inner.episode(task)
        self.change(episode, self.count)
        self.count += 1
        return episode


def run(config, environment):
    policy, watch = load_policy(None), Watch()
    trained = train(policy, config, environment, watch, LocalEngine(policy.model, policy.tokenizer))
    return policy, watch, trained


def same_weights(policy, other):
    return all(a.equal(b) for a, b in zip(policy.model.parameters(), other.model.parameters(), strict=True))


def test_training_changes_weights_and_keeps_every_rollout(policy, environment):
    after, watch, trained = run(TINY, environment)
    assert not same_weights(after, policy)
    assert trained.steps == len(watch.steps) == 2
    rows = trained.rollouts
    assert rows.schema == ROLLOUT_SCHEMA
    assert rows["step"].to_list() == [1] * 8 + [2] * 8
    assert rows["policy_version"].to_list() == [0] * 8 + [1] * 8
    assert rows["group"].to_list() == [group for group in range(4) for _ in range(4)]
    expected = [task.task_id for task in environment.tasks("train", 4, TINY.seed) for _ in range(4)]
    assert rows["task_id"].to_list() == expected
    assert {split_of(task) for task in rows["task_id"]} == {"train"}
    assert watch.ticks > 20


def test_what_cannot_fit_is_refused_before_a_rollout_is_made(environment, monkeypatch):
    monkeypatch.setattr(placement, "free_bytes", lambda device: 2**20)
    policy, watch = load_policy(None), Watch()
    with pytest.raises(TrainingError, match=r"needs at least .* GiB on cpu, and 0\.0 GiB are free"):
        train(policy, TINY, environment, watch, LocalEngine(policy.model, policy.tokenizer))
    assert watch.ticks == 0


def test_metrics_are_trls_and_ours_and_no_clock_is_among_them(environment):
    _, watch, trained = run(TINY, environment)
    metrics = watch.steps[0]
    assert {"reward", "reward_std", "entropy", "loss", "grad_norm", "learning_rate"} <= metrics.keys()
    assert {f"rewards/{name}/mean" for name in environment.reward_names} <= metrics.keys()
    assert metrics["reward"] == pytest.approx(trained.rollouts["reward"][:8].mean(), abs=1e-4)
    assert metrics["rollout/accuracy"] == trained.rollouts["correct"][:8].mean()
    assert not [name for name in metrics if name.endswith(("_time", "_seconds", "_second"))]
    timings = watch.timings[0]
    assert set(timings) == {"step_time", "rollout_seconds", "rollout_tokens_per_second"}
    sampled = timings["rollout_tokens_per_second"] * timings["rollout_seconds"]
    assert sampled == pytest.approx(trained.rollouts["response_mask"][:8].list.sum().sum())


def test_a_learning_rate_of_zero_changes_nothing(policy, environment):
    after, _, _ = run(TINY.model_copy(update={"learning_rate": 0.0}), environment)
    assert same_weights(after, policy)


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_groups_of_equal_rewards_train_nothing(policy, environment, scale):
    def same_reward(episode, _):
        episode.score = lambda: Score(dict.fromkeys(environment.reward_names, 0.1), correct=True)

    config = TINY.model_copy(update={"scale_rewards": scale, "max_steps": 1})
    after, watch, _ = run(config, Changed(environment, same_reward))
    assert watch.steps[0]["grad_norm"] == 0
    assert watch.steps[0]["frac_reward_zero_std"] == 1
    assert same_weights(after, policy)


def test_a_group_with_one_usable_row_trains_nothing_and_gives_no_nan(policy, environment, caplog):
    def break_all_but_the_first(episode, count):
        if count % TINY.num_generations:
            episode.act = lambda text: 1 / 0

    config = TINY.model_copy(update={"max_steps": 1, "refills": 0})
    after, watch, trained = run(config, Changed(environment, break_all_but_the_first))
    assert trained.rollouts["finish"].to_list().count("infra_error") == 6
    assert watch.steps[0]["grad_norm"] == 0
    assert watch.steps[0]["loss"] == 0
    assert "6 of 8 rollouts failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert same_weights(after, policy)


def test_rollouts_that_failed_once_are_attempted_again_and_train(environment):
    def break_the_first_attempts(episode, count):
        if count < 3:
            episode.act = lambda text: 1 / 0

    config = TINY.model_copy(update={"max_steps": 1})
    _, watch, trained = run(config, Changed(environment, break_the_first_attempts))
    assert "infra_error" not in trained.rollouts["finish"].to_list()
    assert trained.rollouts["reward"].is_not_null().all()
    assert watch.steps[0]["rollout/refilled_infra_error"] == 3
    assert watch.steps[0]["rollout/usable"] == 1
    assert watch.steps[0]["rollout/drift"] == 0


def test_rollouts_that_were_cut_train_nothing_where_they_are_masked(policy, environment):
    cut = TINY.model_copy(update={"max_steps": 1, "max_new_tokens": 5, "beta": 0.05})
    masked, watch, trained = run(cut.model_copy(update={"truncated": "mask"}), environment)
    assert set(trained.rollouts["finish"]) == {"length"}
    assert trained.rollouts["reward"].is_not_null().all()
    assert watch.steps[0]["rollout/groups_skipped"] == 2
    assert watch.steps[0]["loss"] == 0
    assert same_weights(masked, policy)


def test_a_second_pass_over_a_batch_needs_no_new_rollouts(environment):
    _, watch, trained = run(TINY.model_copy(update={"num_iterations": 2}), environment)
    assert len(watch.steps) == 2
    assert trained.rollouts["step"].to_list() == [1] * 8


def test_a_kl_term_is_measured_against_the_policy_it_began_with(environment):
    _, watch, _ = run(TINY.model_copy(update={"beta": 0.05}), environment)
    assert watch.steps[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert watch.steps[1]["kl"] > 0


@pytest.mark.parametrize("loss_type", ["grpo", "dr_grpo", "bnpo"])
def test_every_loss_that_can_be_configured_runs(environment, loss_type):
    config = TINY.model_copy(update={"loss_type": loss_type, "max_steps": 1})
    assert run(config, environment)[2].steps == 1


def test_micro_batches_change_how_a_step_is_computed_and_not_what_it_is(environment):
    whole, seen, _ = run(TINY, environment)
    parts, again, _ = run(TINY.model_copy(update={"micro_batch_size": 4}), environment)
    assert again.steps[0]["grad_norm"] == pytest.approx(seen.steps[0]["grad_norm"], rel=1e-3)
    for ours, theirs in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        assert ours.allclose(theirs, atol=1e-4)


def test_adapters_are_trained_and_merged_into_a_plain_model(environment):
    pytest.importorskip("peft", reason="the extra lora is not installed")
    before = load_policy(None)
    _, watch, trained = run(TINY.model_copy(update={"lora_rank": 4, "lora_alpha": 64}), environment)
    names = dict(trained.model.named_parameters())
    assert names.keys() == dict(before.model.named_parameters()).keys()
    moved = [name for name, old in before.model.named_parameters() if not names[name].equal(old)]
    assert moved and all("proj" in name for name in moved)
    assert watch.steps[0]["grad_norm"] > 0


def test_rollouts_of_adapters_are_those_of_the_policy_that_is_trained(environment):
    """The adapters begin at zero: the first rollouts are the base's; later ones are not."""
    pytest.importorskip("peft", reason="the extra lora is not installed")
    strong = {"lora_rank": 4, "lora_alpha": 512, "learning_rate": 1e-2}
    _, _, adapted = run(TINY.model_copy(update=strong), environment)
    _, _, frozen = run(TINY.model_copy(update={**strong, "learning_rate": 0}), environment)
    of = [one.rollouts.partition_by("step", as_dict=True) for one in (adapted, frozen)]
    ids = [[frame[(step,)]["completion_ids"].to_list() for step in (1, 2)] for frame in of]
    assert ids[0][0] == ids[1][0]
    assert ids[0][1] != ids[1][1]


def test_a_hopeless_training_stops_early_and_says_why(environment):
    config = TINY.model_copy(update={"max_steps": 5, "stop_grad_norm": 1e-9})
    _, watch, trained = run(config, environment)
    assert (trained.steps, len(watch.steps)) == (1, 1)
    assert trained.stopped_early.startswith("step 1: gradient norm")
    assert trained.rollouts["step"].unique().to_list() == [1]


def test_a_training_that_ran_to_its_end_was_not_stopped(environment):
    assert run(TINY, environment)[2].stopped_early is None
