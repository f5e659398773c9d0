"""Batched multi-turn rollouts: at each step every row takes one token, sampled or forced by its environment.

What is trained on is what was sampled: ids are kept as they were chosen, with the log-probability of that
very choice. Rewards are the episode's, schedules the caller's.
"""

from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import Any

from agent_evo_dagster.training.environments.types import Episode
from agent_evo_dagster.training.rollout.decoder import Decoder
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.sampler import Sampler
from agent_evo_dagster.training.rollout.types import Limits, Sampling, Tick, Token, Trajectory
from agent_evo_dagster.training.types import Finish

# Rows that are done are dropped once they are this share of the batch: dropping copies the cache.
DROP_SHARE = 0.2
MAX_ROWS = 1024  # decoded at a time: bounds the memory of the cache, whatever is asked for


class Slot:
    """The growing rollout of one episode."""

    def __init__(self, episode: Episode, renderer: ChatRenderer, limits: Limits) -> None:
        self._episode = episode
        self._renderer = renderer
        self._limits = limits
        self._tokens: list[Token] = []
        self._forced: deque[int] = deque()
        self._turn: list[int] = []
        self._turns = 0
        self._error: str | None = None
        self.prompt_ids = renderer.prompt(episode.opening())
        self.finish: Finish | None = None

    @property
    def context(self) -> list[int]:
        """All ids so far, prompt included: what the policy continues."""
        return [*self.prompt_ids, *(token.id for token in self._tokens)]

    @property
    def room(self) -> int:
        """Tokens that the policy may still sample in this turn."""
        left = self._limits.max_completion_length - len(self._tokens)
        return min(self._limits.max_new_tokens - len(self._turn), left)

    @property
    def forcing(self) -> bool:
        """Whether the environment's tokens come next."""
        return bool(self._forced)

    def feed(self, token: int, logprob: float) -> int:
        """Take the next token: the forced one where there is one, else `token`. Returns the one taken."""
        if self._forced:
            token = self._forced.popleft()
            self._tokens.append(Token(token, 0.0, sampled=False))
        else:
            self._tokens.append(Token(token, logprob, sampled=True))
            self._turn.append(token)
            if token == self._renderer.end_of_turn:
                self._end_turn()
            elif len(self._turn) >= self._limits.max_new_tokens:
                self._turns += 1
                self.finish = Finish.LENGTH
        if self.finish is None and len(self._tokens) >= self._limits.max_completion_length:
            self._turns += bool(self._turn)
            self.finish = Finish.LENGTH
        return token

    def _end_turn(self) -> None:
        """Let the environment act on the turn that is complete, and force its answer."""
        text = self._renderer.text(self._turn[:-1])
        self._turn = []
        self._turns += 1
        try:
            reply = self._episode.act(text)
        except Exception as error:  # a broken environment is a row of its kind, never a crash of the batch
            self._error = f"{type(error).__name__}: {error}"
            self.finish = Finish.INFRA_ERROR
            return
        if reply.done:
            self.finish = Finish.STOP
        elif self._turns >= self._limits.max_turns:
            self.finish = Finish.TOOL_LIMIT
        else:
            answer = self._renderer.after_turn(reply.results)
            if len(self._tokens) + len(answer) < self._limits.max_completion_length:
                self._forced.extend(answer)
            else:
                self.finish = Finish.LENGTH

    def trajectory(self) -> Trajectory:
        """The rollout, once it has finished."""
        assert self.finish is not None
        return Trajectory(self.prompt_ids, tuple(self._tokens), self.finish, self._turns, self._error)


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

    slots = [Slot(episode, renderer, limits) for episode in episodes]
    sampler = Sampler(sampling, len(slots), limits.max_completion_length)
    for first in range(0, len(slots), max_rows):
        rows = list(range(len(slots)))[first : first + max_rows]
        with torch.inference_mode():
            decoder = Decoder(model, [slots[row].prompt_ids for row in rows], renderer.pad)
            _decode(slots, rows, decoder, sampler, tick=tick)
    return [slot.trajectory() for slot in slots]


def _decode(
    slots: Sequence[Slot], rows: list[int], decoder: Decoder, sampler: Sampler, *, tick: Tick
) -> None:
    """Finish the slots of `rows` in lock-step: their limits end them all."""
    logits = decoder.prefill()
    for position in count():
        tick()
        tokens = _feed(slots, rows, *sampler.choose(logits, rows, position), pad=decoder.pad)
        live = [at for at, row in enumerate(rows) if slots[row].finish is None]
        if not live:
            return
        if len(live) <= (1 - DROP_SHARE) * len(rows):
            decoder.keep(live)
            rows, tokens = [rows[at] for at in live], [tokens[at] for at in live]
        logits = decoder.step(tokens)


def _feed(
    slots: Sequence[Slot], rows: list[int], tokens: list[int], logprobs: list[float], *, pad: int
) -> list[int]:
    """One token for each row; rows that are done take padding that nobody reads."""
    return [
        pad if slots[row].finish else slots[row].feed(token, logprob)
        for row, token, logprob in zip(rows, tokens, logprobs, strict=True)
    ]
