"""Rollouts on a server: one thread for each episode under way, tokens and masks as in every other rollout."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from agent_evo_dagster.training.environments.types import Episode
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.slot import Slot, open_slots
from agent_evo_dagster.training.rollout.turns import Turn, TurnRequest, next_request, take_turn
from agent_evo_dagster.training.rollout.types import Limits, Sampling, Tick, Trajectory

TICK_SECONDS = 1.0

SampleTurn = Callable[[TurnRequest, float, int], Turn]  # request, temperature, seed


def roll_out_turns(
    sample: SampleTurn,
    renderer: ChatRenderer,
    episodes: Sequence[Episode],
    limits: Limits,
    sampling: Sampling,
    *,
    concurrency: int,
    tick: Tick = lambda: None,
) -> list[Trajectory]:
    """Attempt all `episodes`, `concurrency` at a time; trajectories in the order of the episodes.

    The first failure of the server ends all of them: rows of half a batch are none.
    """
    crowd = _Crowd(sample, renderer, sampling)
    slots = open_slots(episodes, renderer, limits)
    pool = ThreadPoolExecutor(min(concurrency, max(len(slots), 1)), thread_name_prefix="rollout")
    try:
        _await([pool.submit(crowd.attempt, slot, row) for row, slot in enumerate(slots)], crowd, tick)
    finally:
        crowd.stop.set()
        pool.shutdown(wait=False, cancel_futures=True)  # after a failure nobody waits for the others
    return [slot.trajectory() for slot in slots]


class _Crowd:
    """What the threads of one batch share."""

    def __init__(self, sample: SampleTurn, renderer: ChatRenderer, sampling: Sampling) -> None:
        self._sample = sample
        self._end_of_turn = renderer.end_of_turn
        self._sampling = sampling
        self.stop = threading.Event()
        self.moved = threading.Event()  # a turn was sampled since somebody looked

    def attempt(self, slot: Slot, row: int) -> None:
        turn = 0
        while slot.finish is None and not self.stop.is_set():
            request = next_request(slot, turn)
            seed = turn_seed(self._sampling.seed, row, turn)
            take_turn(
                slot, request, self._sample(request, self._sampling.temperature, seed), self._end_of_turn
            )
            self.moved.set()
            turn += 1


def _await(futures: Sequence["Future[None]"], crowd: _Crowd, tick: Tick) -> None:
    """Wait for all; `tick` on this thread while turns come in, so that a silent server shows as silence."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=TICK_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        if crowd.moved.is_set():
            crowd.moved.clear()
            tick()


def turn_seed(seed: int, row: int, turn: int) -> int:
    """The server's seed of one turn: the same whatever else is under way."""
    digest = hashlib.sha256(f"turn:{seed}:{row}:{turn}".encode()).digest()
    return int.from_bytes(digest[:7], "big")
