"""A conversation cut into its opening and its turns, each with its results. Nothing is dropped."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Message = dict[str, str]
_THOUGHT = re.compile(r"<think>(.*?)(</think>|\Z)", re.DOTALL)
KEPT_OF_A_THOUGHT = 200  # characters


@dataclass(frozen=True)
class Conversation:
    """Messages before the first turn, and the turns."""

    opening: tuple[Message, ...]
    turns: tuple[tuple[Message, ...], ...]

    @property
    def messages(self) -> list[Message]:
        """All of it, in order."""
        return [*self.opening, *(message for turn in self.turns for message in turn)]


def conversation(messages: Sequence[Message]) -> Conversation:
    """Divide `messages`: a turn begins with each message of the assistant."""
    starts = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    opening = messages[: starts[0]] if starts else messages
    turns = tuple(tuple(messages[start:end]) for start, end in pairwise([*starts, len(messages)]))
    return Conversation(tuple(opening), turns)


def shorter_thoughts(message: Message) -> Message:
    """The message with each think-block cut to its beginning."""
    return {**message, "content": _THOUGHT.sub(_shorter, message["content"])}


def _shorter(thought: re.Match[str]) -> str:
    text = thought.group(1).strip()
    kept = text if len(text) <= KEPT_OF_A_THOUGHT else f"{text[:KEPT_OF_A_THOUGHT]} ..."
    return f"<think>\n{kept}\n</think>"
