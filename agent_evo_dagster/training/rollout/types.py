"""The vocabulary of rollouts: limits, sampling, and what one rollout was. No model, no text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_evo_dagster.training.types import Finish

Tick = Callable[[], None]  # called at every decoding step: a sign of life
Count = Callable[[Sequence[dict[str, str]]], int]  # tokens of chat messages, the next turn's opening included
Schema = Mapping[str, object]  # of a tool, as chat templates take it


@dataclass(frozen=True)
class Limits:
    """How much a rollout may use."""

    max_turns: int  # assistant turns
    max_new_tokens: int  # sampled tokens in a turn
    max_completion_length: int  # tokens of all turns and tool results
    context_length: int | None = None  # tokens that the policy sees at once, prompt included
    turn_seconds: float | None = None  # for the environment's answer to one turn, where it may take long
    rollout_seconds: float | None = None


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen. The same seed gives the same tokens whatever rows are decoded beside."""

    temperature: float  # 0: the most likely token
    seed: int


@dataclass(frozen=True)
class Token:
    """One token of a completion, with everything known about it."""

    id: int
    logprob: float  # 0 where not sampled
    sampled: bool


@dataclass(frozen=True)
class Trajectory:
    """One finished rollout. One list of tokens: ids, log-probabilities and mask cannot differ in length."""

    prompt_ids: tuple[int, ...]
    tokens: tuple[Token, ...]
    finish: Finish
    turns: int
    error: str | None = None  # what the environment raised, where finish is infra_error
    shortened: int = 0  # how often memory took the place of the conversation; tokens are those since the last
    sampled_before: int = 0  # tokens sampled until then: in no row, and trained on by nobody
    faithful: bool = True  # the ids are those that the policy was fed, one by one

    @property
    def completion_ids(self) -> list[int]:
        """Ids of all turns and tool results."""
        return [token.id for token in self.tokens]

    @property
    def logprobs(self) -> list[float]:
        """Log-probability of each token at its sampling; 0 where the environment wrote it."""
        return [token.logprob for token in self.tokens]

    @property
    def response_mask(self) -> list[int]:
        """1 where the policy sampled the token, 0 where the environment wrote it."""
        return [int(token.sampled) for token in self.tokens]

    @property
    def sampled(self) -> int:
        """Number of tokens that the policy sampled."""
        return sum(self.response_mask)
