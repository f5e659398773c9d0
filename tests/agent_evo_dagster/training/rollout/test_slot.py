import threading
import time

import pytest

from agent_evo_dagster.training.environments.types import Brief, Reply, Score, Task, ToolUse, components
from agent_evo_dagster.training.rollout.engine import roll_out
from agent_evo_dagster.training.rollout.slot import Slot, open_slots
from agent_evo_dagster.training.rollout.turns import Turn, next_request, take_turn
from agent_evo_dagster.training.rollout.types import Limits, Sampling
from agent_evo_dagster.training.types import Finish

LIMITS = Limits(max_turns=3, max_new_tokens=40, max_completion_length=96)
SAMPLED = Sampling(1.0, 11)


class Slow(Brief):
    """Another episode, whose steps run on threads and take a while."""

    blocking = True

    def __init__(self, inner, seconds=0.0):
        self.inner, self.task, self.seconds = inner, inner.task, seconds
        self.opening, self.score, self.tool_use = inner.opening, inner.score, inner.tool_use

    def act(self, text):
        time.sleep(self.seconds)
        return self.inner.act(text)


class Echo(Brief):
    task = Task("t", "2+2", "4")

    def __init__(self, result="4", memory=None, opens=None):
        self.result, self.memory, self.opens, self.asked = result, memory, opens, []

    def opening(self):
        if self.opens is not None:
            return self.opens()
        return [{"role": "user", "content": "2+2"}]

    def act(self, text):
        self.asked.append(text)
        return Reply((self.result,), done=False)

    def score(self):
        return Score(components(correct=1.0), correct=True)

    def tool_use(self):
        return ToolUse(calls=len(self.asked), errors=0)

    def shortened(self, room, count):
        return None if self.memory is None else self.memory(room, count)


def fail():
    raise ConnectionError("no database")


def episodes(environment, count, wrap=lambda episode: episode):
    return [wrap(environment.episode(task)) for task in environment.tasks("dev", count, 0)]


def test_an_environment_that_fails_while_it_opens_keeps_its_place_and_moves_no_other(
    policy, renderer, environment
):
    whole = roll_out(policy.model, renderer, episodes(environment, 6), LIMITS, SAMPLED)
    broken = episodes(environment, 6)
    broken[2] = Echo(opens=fail)
    found = roll_out(policy.model, renderer, broken, LIMITS, SAMPLED)
    assert (found[2].finish, found[2].error) == (Finish.INFRA_ERROR, "ConnectionError: no database")
    assert found[2].response_mask == [0]
    assert len(found[2].prompt_ids) == 1
    for at in (0, 1, 3, 4, 5):
        assert (found[at].completion_ids, found[at].finish) == (whole[at].completion_ids, whole[at].finish)


def test_a_batch_in_which_all_fail_to_open_is_rows_and_no_crash(policy, renderer):
    found = roll_out(policy.model, renderer, [Echo(opens=fail)] * 3, LIMITS, SAMPLED)
    assert [each.finish for each in found] == [Finish.INFRA_ERROR] * 3


def test_tools_on_threads_give_the_very_rollouts_that_tools_at_once_give(policy, renderer, environment):
    at_once = roll_out(policy.model, renderer, episodes(environment, 16), LIMITS, SAMPLED)
    threaded = roll_out(policy.model, renderer, episodes(environment, 16, Slow), LIMITS, SAMPLED)
    assert [each.completion_ids for each in threaded] == [each.completion_ids for each in at_once]
    assert [each.response_mask for each in threaded] == [each.response_mask for each in at_once]
    assert [each.finish for each in threaded] == [each.finish for each in at_once]
    assert all(each.faithful for each in threaded)
    for ours, theirs in zip(threaded, at_once, strict=True):
        assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-4)


def test_tools_of_many_rollouts_run_beside_each_other(policy, renderer, environment):
    slow = episodes(environment, 12, lambda episode: Slow(episode, seconds=0.3))
    began = time.monotonic()
    found = roll_out(policy.model, renderer, slow, LIMITS, SAMPLED)
    calls = sum(each.turns for each in found)
    assert calls >= 12
    assert time.monotonic() - began < 0.3 * calls / 2


def test_environments_that_take_long_to_open_do_so_beside_each_other(renderer, environment):
    class SlowToOpen(Slow):
        def __init__(self, inner):
            super().__init__(inner)
            opening = inner.opening
            self.opening = lambda: (time.sleep(0.3), opening())[1]

    began = time.monotonic()
    open_slots(episodes(environment, 10, SlowToOpen), renderer, LIMITS)
    assert time.monotonic() - began < 1.5


def test_an_answer_that_misses_the_turns_deadline_is_a_timeout_of_that_row_alone(
    policy, renderer, environment
):
    release = threading.Event()
    tried = episodes(environment, 4, Slow)
    tried[1].act = lambda text: release.wait(30) and Reply((), done=True)
    limits = Limits(3, 40, 96, turn_seconds=0.3)
    found = roll_out(policy.model, renderer, tried, limits, SAMPLED)
    release.set()
    assert found[1].finish is Finish.TIMEOUT
    assert "not done within 0.3 seconds" in found[1].error
    assert all(each.finish is not Finish.TIMEOUT for at, each in enumerate(found) if at != 1)


def test_an_opening_that_misses_its_deadline_is_a_timeout(renderer, environment):
    release = threading.Event()
    (episode,) = episodes(environment, 1, Slow)
    episode.opening = lambda: release.wait(30) and []
    (slot,) = open_slots([episode], renderer, Limits(3, 40, 96, turn_seconds=0.1))
    release.set()
    assert slot.trajectory().finish is Finish.TIMEOUT


def test_a_rollout_that_misses_its_deadline_is_a_timeout(policy, renderer, environment):
    limits = Limits(3, 40, 96, rollout_seconds=1e-9)
    found = roll_out(policy.model, renderer, episodes(environment, 4), limits, SAMPLED)
    assert {each.finish for each in found} == {Finish.TIMEOUT}
    assert all("rollout was not done" in each.error for each in found)


def test_an_environment_that_breaks_on_its_thread_is_a_failure_of_its_row(policy, renderer, environment):
    tried = episodes(environment, 3, Slow)
    tried[0].act = lambda text: fail()
    found = roll_out(policy.model, renderer, tried, LIMITS, SAMPLED)
    assert (found[0].finish, found[0].error) == (Finish.INFRA_ERROR, "ConnectionError: no database")
    assert Finish.INFRA_ERROR not in {found[1].finish, found[2].finish}


def turn(renderer, *ids):
    return Turn((*ids, renderer.end_of_turn), tuple(-0.5 for _ in range(len(ids) + 1)))


def play(slot, renderer, turns):
    for number in range(turns):
        if slot.finish is not None:
            break
        take_turn(slot, next_request(slot, number), turn(renderer, 30 + number), renderer.end_of_turn)


def brief(room, count):
    kept = [{"role": "user", "content": "so far: 4"}]
    assert count(kept) <= room
    return kept


def test_where_memory_shortens_the_conversation_the_row_is_what_was_sampled_since(renderer):
    slot = Slot(Echo(result="1" * 60, memory=brief), renderer, Limits(4, 10, 40))
    play(slot, renderer, 4)
    done = slot.trajectory()
    assert done.finish is Finish.TOOL_LIMIT
    assert done.shortened == 3
    assert done.prompt_ids == renderer.prompt([{"role": "user", "content": "so far: 4"}])
    assert done.completion_ids == [33, renderer.end_of_turn]
    assert done.response_mask == [1, 1]
    assert done.logprobs == [-0.5, -0.5]
    assert done.sampled_before == 6
    assert done.turns == 4


def test_a_context_that_is_full_is_shortened_as_well(renderer):
    prompt = len(renderer.prompt([{"role": "user", "content": "2+2"}]))
    limits = Limits(4, 10, 500, context_length=prompt + 25)
    slot = Slot(Echo(memory=brief), renderer, limits)
    play(slot, renderer, 4)
    assert slot.trajectory().shortened >= 1
    assert len(slot.context) <= prompt + 25


@pytest.mark.parametrize(
    ("memory", "finish"),
    [
        (None, Finish.LENGTH),
        (lambda room, count: None, Finish.LENGTH),
        (lambda room, count: [{"role": "user", "content": "1" * 500}], Finish.LENGTH),
        (lambda room, count: fail(), Finish.INFRA_ERROR),
    ],
)
def test_what_memory_cannot_shorten_ends_the_rollout(renderer, memory, finish):
    slot = Slot(Echo(result="1" * 60, memory=memory), renderer, Limits(4, 10, 40))
    play(slot, renderer, 1)
    assert slot.trajectory().finish is finish
    assert slot.trajectory().shortened == 0


def test_a_prompt_that_leaves_no_room_in_the_context_is_no_fault_of_the_policy(renderer):
    slot = Slot(Echo(), renderer, Limits(3, 10, 96, context_length=5))
    assert slot.finish is Finish.INFRA_ERROR
    assert "leaves no room in a context of 5" in slot.trajectory().error


def test_shortened_rollouts_are_decoded_on_in_lock_step_under_their_new_prompt(torch, policy, renderer):
    tried = [Echo(result="1" * 60, memory=brief) for _ in range(5)]
    found = roll_out(policy.model, renderer, tried, Limits(3, 40, 60), SAMPLED)
    again = roll_out(
        policy.model,
        renderer,
        [Echo(result="1" * 60, memory=brief) for _ in range(5)],
        Limits(3, 40, 60),
        SAMPLED,
    )
    assert found == again
    shortened = [each for each in found if each.shortened]
    assert shortened
    for each in shortened:
        assert each.faithful
        ids = torch.tensor([[*each.prompt_ids, *each.completion_ids]])
        with torch.no_grad():
            logits = policy.model(input_ids=ids, use_cache=False).logits[0, len(each.prompt_ids) - 1 : -1]
        expected = torch.log_softmax(logits, -1).gather(1, torch.tensor(each.completion_ids)[:, None])[:, 0]
        mask = torch.tensor(each.response_mask).bool()
        assert torch.allclose(torch.tensor(each.logprobs)[mask], expected[mask], atol=1e-4)


def test_drift_shows_where_the_policy_was_fed_other_ids(renderer):
    slot = Slot(Echo(), renderer, LIMITS)
    play(slot, renderer, 1)
    slot.heard([*slot.context, renderer.pad])
    slot.heard(slot.context[:-1])
    assert slot._faithful
    slot.heard([*slot.context[:-2], 7, 7])
    assert not slot._faithful
