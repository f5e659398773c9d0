"""Rollouts with a policy that answers whole turns, such as a server. Token ids in, token ids out.

Limits, masks and the environment are the slot's: the same as where tokens are decoded one by one.
"""

from dataclasses import dataclass

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.rollout.slot import Slot


@dataclass(frozen=True)
class TurnRequest:
    """What the policy is asked for: at most `max_tokens` ids that continue `context`."""

    context: tuple[int, ...]
    max_tokens: int
    turn: int  # counted from 0 within the rollout


@dataclass(frozen=True)
class Turn:
    """What the policy sampled, its end-of-turn token included, with a log-probability for each id."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]


def next_request(slot: Slot, turn: int) -> TurnRequest:
    """What to ask the policy for now; the slot must not have finished."""
    return TurnRequest(tuple(slot.context), slot.room, turn)


def take_turn(slot: Slot, request: TurnRequest, turn: Turn, end_of_turn: int) -> None:
    """Feed a sampled turn to the slot, then wait for whatever its environment answers.

    Raises:
        TrainingError: the turn is not what was asked for, so that it could not be trained on.
    """
    _check(request, turn, end_of_turn)
    for token, logprob in zip(turn.ids, turn.logprobs, strict=True):
        slot.feed(token, logprob)
    slot.resume()
    while slot.finish is None and slot.forcing:
        slot.feed(end_of_turn, 0.0)  # the slot takes the forced token instead


def _check(request: TurnRequest, turn: Turn, end_of_turn: int) -> None:
    ids = turn.ids
    if len(ids) != len(turn.logprobs):
        raise TrainingError(f"The policy gave {len(ids)} ids and {len(turn.logprobs)} log-probabilities.")
    if not 1 <= len(ids) <= request.max_tokens:
        raise TrainingError(
            f"The policy was asked for at most {request.max_tokens} tokens and gave {len(ids)}."
        )
    if end_of_turn in ids[:-1]:
        raise TrainingError(
            f"The policy went on after its end-of-turn token {end_of_turn}: does it use another tokenizer?"
        )
    if ids[-1] != end_of_turn and len(ids) < request.max_tokens:
        raise TrainingError(
            f"The policy ended after {len(ids)} of {request.max_tokens} tokens in {ids[-1]}, "
            f"not in its end-of-turn token {end_of_turn}: another stop rule is at work."
        )
