"""Batched multi-turn rollouts: at each step every row takes one token, sampled or forced by its environment.

What is trained on is what was sampled: ids are kept as they were chosen, with the log-probability of that
very choice. Rewards are the episode's, schedules the caller's.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from agent_evo_dagster.training.environments.types import Episode
from agent_evo_dagster.training.rollout.decoder import Decoder
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.sampler import Sampler
from agent_evo_dagster.training.rollout.slot import Slot, open_slots
from agent_evo_dagster.training.rollout.types import Limits, Sampling, Tick, Trajectory

# Rows that are done are dropped once they are this share of the batch: dropping copies the cache.
DROP_SHARE = 0.2
MAX_ROWS = 1024  # decoded at a time: bounds the memory of the cache, whatever is asked for


def roll_out(
    model: Any,
    renderer: ChatRenderer,
    episodes: Sequence[Episode],
    limits: Limits,
    sampling: Sampling,
    *,
    tick: Tick = lambda: None,
    max_rows: int = MAX_ROWS,
) -> list[Trajectory]:
    """Attempt all `episodes`, `max_rows` at a time; trajectories in the order of the episodes."""
    import torch

    slots = open_slots(episodes, renderer, limits)
    sampler = Sampler(sampling, len(slots), limits.max_completion_length)
    for first in range(0, len(slots), max_rows):
        rows = _unfinished(slots, range(first, min(first + max_rows, len(slots))))
        while rows:
            with torch.inference_mode():
                decoder = Decoder(model, [slots[row].context for row in rows], renderer.pad)
                _decode(slots, rows, decoder, sampler, tick=tick)
            for row in rows:
                slots[row].resume()
                tick()
            rows = _unfinished(slots, rows)
    return [slot.trajectory() for slot in slots]


def _unfinished(slots: Sequence[Slot], rows: Iterable[int]) -> list[int]:
    return [row for row in rows if slots[row].finish is None]


def _decode(
    slots: Sequence[Slot], rows: list[int], decoder: Decoder, sampler: Sampler, *, tick: Tick
) -> None:
    """Go on with the slots of `rows` in lock-step until each has finished or is paused.

    A row that waits for its environment leaves the batch, and comes back with the next one: what is computed
    beside what then depends on no clock, so that the same seed gives the same tokens.
    """
    began = {row: slots[row].context for row in rows}
    starts = {row: slots[row].position for row in rows}
    level = not any(starts.values())  # the first tokens of all: one position for every row
    fed: list[tuple[list[int], list[int]]] = []
    logits = decoder.prefill()
    while True:
        tick()
        step = len(fed)
        positions = step if level else [starts[row] + step for row in rows]
        chosen = sampler.choose(logits, rows, positions)
        tokens = _feed(slots, rows, *chosen, pad=decoder.pad)
        live = [at for at, row in enumerate(rows) if _goes_on(slots[row])]
        if not live:
            break
        if len(live) <= (1 - DROP_SHARE) * len(rows):
            decoder.keep(live)
            rows, tokens = [rows[at] for at in live], [tokens[at] for at in live]
        told = _told_to_all(slots, rows, decoder)
        fed += [(rows, taken) for taken in (tokens, *told)]
        logits = decoder.step(tokens, *told)
    _tell_heard(slots, began, fed)


def _told_to_all(slots: Sequence[Slot], rows: list[int], decoder: Decoder) -> list[list[int]]:
    """The next tokens, as far as all rows that go on have theirs from their environments.

    They need no sampling, so that one step takes them all: turns that began together end close together.
    """
    told: list[list[int]] = []
    nothing = [decoder.pad] * len(rows), [0.0] * len(rows)
    while len(told) < decoder.most - 1 and _all_told(slots, rows):
        told.append(_feed(slots, rows, *nothing, pad=decoder.pad))
    return told


def _all_told(slots: Sequence[Slot], rows: list[int]) -> bool:
    going = (slots[row] for row in rows if _goes_on(slots[row]))
    first = next(going, None)
    return first is not None and first.forcing and all(slot.forcing for slot in going)


def _tell_heard(
    slots: Sequence[Slot], began: dict[int, list[int]], fed: list[tuple[list[int], list[int]]]
) -> None:
    """Tell each slot what the policy was fed in its row, from the record of the steps."""
    for rows, tokens in fed:
        for row, token in zip(rows, tokens, strict=True):
            began[row].append(token)
    for row, ids in began.items():
        slots[row].heard(ids)


def _goes_on(slot: Slot) -> bool:
    return slot.finish is None and not slot.paused


def _feed(
    slots: Sequence[Slot], rows: list[int], tokens: list[int], logprobs: list[float], *, pad: int
) -> list[int]:
    """One token for each row; rows that are done or paused take padding that nobody reads."""
    return [
        pad if slots[row].finish or slots[row].paused else slots[row].feed(token, logprob)
        for row, token, logprob in zip(rows, tokens, logprobs, strict=True)
    ]
