"""Memory as a summary: a model tells what happened in turns that no longer fit. Whose, the caller says."""

from collections.abc import Callable, Sequence
from typing import Literal

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.memory.turns import Conversation, Message, conversation, shorter_thoughts
from agent_evo_dagster.training.rollout.types import Count

Summarise = Callable[[str], str]  # text of the earlier turns -> a summary, empty where there is none
Fallback = Literal["none", "extract"]

MAX_CHARACTERS = 20_000  # of the turns that are shown to the summariser
KEPT_OF_A_MESSAGE = 120  # characters, where the fallback extracts


class SummaryMemory:
    """Keeps the opening, a summary, and the latest turn.

    The fallback is used where it was asked for alone: a summary that fails otherwise ends the rollout as
    a failure of infrastructure.
    """

    def __init__(self, summarise: Summarise, fallback: Fallback = "none") -> None:
        self._summarise = summarise
        self._fallback = fallback

    def shorten(self, messages: Sequence[Message], room: int, count: Count) -> list[Message] | None:
        """The conversation within `room` tokens; None where not even a part of the summary fits.

        Raises:
            TrainingError: there is no summary, and no fallback was asked for.
        """
        whole = conversation(messages)
        if len(whole.turns) < 2:
            return None  # the latest turn alone does not fit: a summary of nothing would not help
        summary = self._summary(whole.turns[:-1])
        while summary:
            kept = Conversation(_told(whole.opening, summary), whole.turns[-1:]).messages
            if count(kept) <= room:
                return kept
            summary = summary[: len(summary) // 2]
        return None

    def _summary(self, turns: Sequence[tuple[Message, ...]]) -> str:
        text = "\n".join(
            f"[{message['role']}] {shorter_thoughts(message)['content']}"
            for turn in turns
            for message in turn
        )
        summary = self._summarise(text[-MAX_CHARACTERS:]).strip()
        if summary:
            return summary
        if self._fallback == "extract":
            return "\n".join(_extract(message) for turn in turns for message in turn)
        raise TrainingError(
            "The summariser gave no summary of the conversation. Choose another memory, or set "
            "summary_fallback=extract to keep the first words of each message instead."
        )


def _told(opening: tuple[Message, ...], summary: str) -> tuple[Message, ...]:
    """The opening, with the summary at the end of its last message."""
    if not opening:
        return ({"role": "user", "content": f"So far:\n{summary}"},)
    last = opening[-1]
    return (*opening[:-1], {**last, "content": f"{last['content']}\n\nSo far:\n{summary}"})


def _extract(message: Message) -> str:
    words = " ".join(message["content"].split())
    return f"{message['role']}: {words[:KEPT_OF_A_MESSAGE]}"
