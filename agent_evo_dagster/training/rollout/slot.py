"""The growing rollout of one episode: tokens, masks, limits, deadlines. No model.

Whatever the episode raises ends this rollout and no other: the slot keeps its place in the batch.
"""

import time
from collections import deque
from collections.abc import Sequence

from agent_evo_dagster.training.background import Background, DeadlineError
from agent_evo_dagster.training.environments.types import Episode, Reply
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.types import Limits, Token, Trajectory
from agent_evo_dagster.training.types import Finish

Messages = list[dict[str, str]]


class Slot:
    """One rollout in the making.

    A slot is `paused` while its environment is at work on a thread, or when the conversation no longer
    fits: it takes no tokens until `resume`, and its `context` has then to be read anew.
    """

    def __init__(
        self,
        episode: Episode,
        renderer: ChatRenderer,
        limits: Limits,
        opening: "Background[Messages] | None" = None,
    ) -> None:
        self._episode = episode
        self._renderer = renderer
        self._limits = limits
        # read for every token of every row: looked up once
        self._end_of_turn = renderer.end_of_turn
        self._longest_turn = limits.max_new_tokens
        self._longest = limits.max_completion_length
        self._seconds = limits.rollout_seconds
        self._tokens: list[Token] = []
        self._forced: deque[int] = deque()
        self._turn: list[int] = []
        self._turns = 0
        self._error: str | None = None
        self._pending: Background[Reply] | None = None
        self._overflow = False
        self.paused = False  # whether `resume` has to be called before the next token
        self._shortened = 0
        self._fed_before = 0
        self._sampled_before = 0
        self._faithful = True
        self._ends_at: float | None = None
        self.finish: Finish | None = None
        self.prompt_ids: tuple[int, ...] = self._opened(opening)

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

    @property
    def position(self) -> int:
        """Tokens taken since the first prompt, whatever memory has dropped of them."""
        return self._fed_before + len(self._tokens)

    def feed(self, token: int, logprob: float) -> int:
        """Take the next token: the forced one where there is one, else `token`. Returns the one taken."""
        if self._forced:
            token = self._forced.popleft()
            self._tokens.append(Token(token, 0.0, sampled=False))
        else:
            self._tokens.append(Token(token, logprob, sampled=True))
            self._turn.append(token)
            if token == self._end_of_turn:
                self._end_turn()
            elif len(self._turn) >= self._longest_turn:
                self._turns += 1
                self.finish = Finish.LENGTH
        if len(self._tokens) >= self._longest and not (self.finish or self.paused):
            self._turns += bool(self._turn)
            self.finish = Finish.LENGTH
        if self._seconds is not None:
            self._watch_the_clock(self._seconds)
        return token

    def resume(self) -> None:
        """Wait for the environment where it is at work; shorten the conversation where it has to be."""
        if not self.paused:
            return
        if self._pending is not None and self.finish is None:
            pending, self._pending = self._pending, None
            try:
                reply = pending.result(self._patience())
            except DeadlineError as error:
                self._error = f"the environment's answer to a turn was {error}"
                self.finish = Finish.TIMEOUT
            except Exception as error:  # a broken environment is a row of its kind, never a crash
                self._fail(error)
            else:
                self._take(reply)
        if self._overflow and self.finish is None:
            self._shorten()
        self._overflow = self.paused = False
        while self._forced and self.finish is None:
            self.feed(self._renderer.pad, 0.0)

    def heard(self, ids: Sequence[int]) -> None:
        """Compare with what the policy was really fed, prompt included; padding may follow."""
        context = self.context
        missing = len(context) - len(ids)  # the last token may never have been fed
        self._faithful &= missing <= 1 and list(ids[: len(context)]) == context[: len(ids)]

    def trajectory(self) -> Trajectory:
        """The rollout, once it has finished."""
        assert self.finish is not None
        return Trajectory(
            self.prompt_ids,
            tuple(self._tokens),
            self.finish,
            self._turns,
            self._error,
            self._shortened,
            self._sampled_before,
            self._faithful,
        )

    def _opened(self, opening: "Background[Messages] | None") -> tuple[int, ...]:
        try:
            said = self._episode.opening() if opening is None else opening.result(self._limits.turn_seconds)
        except DeadlineError as error:
            return self._stillborn(Finish.TIMEOUT, f"the environment's opening was {error}")
        except Exception as error:  # the slot stays, and what follows keeps its place
            return self._stillborn(Finish.INFRA_ERROR, _told(error))
        ids = self._renderer.prompt(said, self._episode.schemas)
        window = self._limits.context_length
        if window is not None and len(ids) >= window:
            return self._stillborn(
                Finish.INFRA_ERROR, f"the prompt of {len(ids)} tokens leaves no room in a context of {window}"
            )
        return ids

    def _stillborn(self, finish: Finish, error: str) -> tuple[int, ...]:
        """One token of each kind, so that no list is empty; none of them is trained on."""
        self.finish, self._error = finish, error
        self._tokens.append(Token(self._renderer.end_of_turn, 0.0, sampled=False))
        return (self._renderer.end_of_turn,)

    def _end_turn(self) -> None:
        """Let the environment act on the turn that is complete."""
        text = self._renderer.text(self._turn[:-1])
        self._turn = []
        self._turns += 1
        if self._episode.blocking:
            self._pending = Background(lambda: self._episode.act(text))
            self.paused = True
            return
        try:
            reply = self._episode.act(text)
        except Exception as error:  # a broken environment is a row of its kind, never a crash of the batch
            self._fail(error)
            return
        self._take(reply)

    def _take(self, reply: Reply) -> None:
        """Force the environment's answer, where the rollout goes on."""
        if reply.done:
            self.finish = Finish.STOP
        elif self._turns >= self._limits.max_turns:
            self.finish = Finish.TOOL_LIMIT
        else:
            answer = self._renderer.after_turn(reply.results)
            if self._fits(len(answer)):
                self._forced.extend(answer)
            else:
                self._overflow = self.paused = True

    def _fits(self, more: int) -> bool:
        """Whether an answer of `more` tokens leaves room for a turn."""
        if len(self._tokens) + more >= self._limits.max_completion_length:
            return False
        window = self._limits.context_length
        taken = len(self.prompt_ids) + len(self._tokens) + more
        return window is None or taken + self._limits.max_new_tokens <= window

    def _shorten(self) -> None:
        """Begin again from what the episode's memory keeps; without one the rollout was cut."""
        window = self._limits.context_length or len(self.prompt_ids) + self._limits.max_completion_length
        room = window - self._limits.max_new_tokens
        try:
            kept = self._episode.shortened(room, self._count)
        except Exception as error:  # such as a summariser that cannot be reached
            self._fail(error)
            return
        if kept is None or self._count(kept) > room:
            self.finish = Finish.LENGTH
            return
        self._shortened += 1
        self._fed_before += len(self._tokens)
        self._sampled_before += sum(token.sampled for token in self._tokens)
        self._tokens = []
        self.prompt_ids = self._renderer.prompt(kept, self._episode.schemas)

    def _count(self, messages: Sequence[dict[str, str]]) -> int:
        return len(self._renderer.prompt(messages, self._episode.schemas))

    def _fail(self, error: Exception) -> None:
        self._error = _told(error)
        self.finish = Finish.INFRA_ERROR

    def _watch_the_clock(self, seconds: float) -> None:
        now = time.monotonic()
        if self._ends_at is None:
            self._ends_at = now + seconds
        elif self.finish is None and now >= self._ends_at:
            self._error = f"the rollout was not done within {seconds:g} seconds"
            self.finish = Finish.TIMEOUT

    def _patience(self) -> float | None:
        """Seconds that the environment has for this turn, since it began it."""
        seconds = self._limits.turn_seconds
        if self._ends_at is None:
            return seconds
        left = max(0.0, self._ends_at - time.monotonic())
        return left if seconds is None else min(seconds, left)


def open_slots(episodes: Sequence[Episode], renderer: ChatRenderer, limits: Limits) -> list[Slot]:
    """A slot for each episode, in their order; those that may take long to open do so beside each other."""
    openings = [Background(episode.opening) if episode.blocking else None for episode in episodes]
    return [
        Slot(episode, renderer, limits, opening) for episode, opening in zip(episodes, openings, strict=True)
    ]


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
