import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.environments.types import Brief, Reply, Score, Task, ToolUse, components
from agent_evo_dagster.training.rollout.engine import roll_out
from agent_evo_dagster.training.rollout.slot import Slot
from agent_evo_dagster.training.rollout.turns import Turn, TurnRequest, next_request, take_turn
from agent_evo_dagster.training.rollout.types import Limits, Sampling
from agent_evo_dagster.training.types import Finish

LIMITS = Limits(max_turns=3, max_new_tokens=40, max_completion_length=96)


class Echo(Brief):
    """Answers every turn with the same result, and never ends by itself."""

    task = Task("t", "2+2", "4")

    def opening(self):
        return [{"role": "user", "content": "2+2"}]

    def act(self, text):
        return Reply(("4",), done=False)

    def score(self):
        return Score(components(correct=1.0), correct=True)

    def tool_use(self):
        return ToolUse(calls=1, errors=0)


def started(renderer, limits=LIMITS):
    slot = Slot(Echo(), renderer, limits)
    return slot, next_request(slot, 0)


def turn(*ids):
    return Turn(ids, tuple(-0.5 for _ in ids))


def test_a_turn_is_asked_for_with_the_prompt_and_the_room_of_one_turn(renderer):
    slot, request = started(renderer)
    assert request == TurnRequest(tuple(slot.prompt_ids), 40, 0)


def test_after_a_turn_the_environment_answers_with_tokens_that_are_masked_out(renderer):
    slot, request = started(renderer)
    take_turn(slot, request, turn(20, 21, renderer.end_of_turn), renderer.end_of_turn)
    answer = renderer.after_turn(("4",))
    following = next_request(slot, 1)
    assert following.context == (*slot.prompt_ids, 20, 21, renderer.end_of_turn, *answer)
    take_turn(slot, following, turn(22, renderer.end_of_turn), renderer.end_of_turn)
    take_turn(slot, next_request(slot, 2), turn(23, renderer.end_of_turn), renderer.end_of_turn)
    done = slot.trajectory()
    assert done.finish is Finish.TOOL_LIMIT
    gap = [0] * len(answer)
    assert done.response_mask == [1, 1, 1, *gap, 1, 1, *gap, 1, 1]
    assert [p for p, m in zip(done.logprobs, done.response_mask, strict=True) if not m] == [0.0] * sum(
        not m for m in done.response_mask
    )


def test_the_room_of_a_turn_ends_where_the_completion_ends(renderer):
    slot, request = started(renderer, Limits(3, 40, 20))
    assert request.max_tokens == 20
    take_turn(slot, request, turn(*[30] * 20), renderer.end_of_turn)
    assert slot.finish is Finish.LENGTH


def test_a_turn_that_is_cut_at_its_limit_ends_the_rollout(renderer):
    slot, request = started(renderer)
    take_turn(slot, request, turn(*[30] * 40), renderer.end_of_turn)
    assert slot.trajectory().finish is Finish.LENGTH
    assert sum(slot.trajectory().response_mask) == 40


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ((), "at most 40 tokens and gave 0"),
        ((30,) * 41, "at most 40 tokens and gave 41"),
        ((30, 31), "another stop rule"),
        (("end", 31), "went on after its end-of-turn"),
    ],
)
def test_a_turn_that_is_not_what_was_asked_for_is_refused(renderer, ids, said):
    slot, request = started(renderer)
    given = tuple(renderer.end_of_turn if each == "end" else each for each in ids)
    with pytest.raises(TrainingError, match=said):
        take_turn(slot, request, turn(*given), renderer.end_of_turn)


def test_ids_without_their_log_probabilities_are_refused(renderer):
    slot, request = started(renderer)
    with pytest.raises(TrainingError, match="2 ids and 1 log-probabilities"):
        take_turn(slot, request, Turn((1, renderer.end_of_turn), (-0.1,)), renderer.end_of_turn)


def test_turn_by_turn_gives_the_trajectories_that_token_by_token_gives(policy, renderer, environment):
    """The same ids and log-probabilities, fed as whole turns, end in the same rollout."""
    tasks = environment.tasks("dev", 6, 0)
    whole = roll_out(
        policy.model, renderer, [environment.episode(t) for t in tasks], LIMITS, Sampling(1.0, 3)
    )
    for task, expected in zip(tasks, whole, strict=True):
        slot = Slot(environment.episode(task), renderer, LIMITS)
        at = number = 0
        while slot.finish is None:
            sampled = []
            while at < len(expected.tokens) and expected.tokens[at].sampled:
                sampled.append(expected.tokens[at])
                at += 1
                if sampled[-1].id == renderer.end_of_turn:
                    break
            given = Turn(tuple(t.id for t in sampled), tuple(t.logprob for t in sampled))
            take_turn(slot, next_request(slot, number), given, renderer.end_of_turn)
            while at < len(expected.tokens) and not expected.tokens[at].sampled:
                at += 1
            number += 1
        assert slot.trajectory() == expected
