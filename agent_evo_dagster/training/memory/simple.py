"""Memory as a window: the opening and the latest turns, thoughts of older turns cut short. No model."""

from collections.abc import Sequence

from agent_evo_dagster.training.memory.turns import Conversation, Message, conversation, shorter_thoughts
from agent_evo_dagster.training.rollout.types import Count


class SimpleMemory:
    """Keeps as many of the latest turns as fit, after a note of how many are left out."""

    def shorten(self, messages: Sequence[Message], room: int, count: Count) -> list[Message] | None:
        """The conversation within `room` tokens; None where not even the last turn fits."""
        whole = conversation(messages)
        if not whole.turns:
            return None
        brief = Conversation(whole.opening, (*map(_brief, whole.turns[:-1]), whole.turns[-1]))
        for dropped in range(len(brief.turns)):
            kept = Conversation(_noted(brief.opening, dropped), brief.turns[dropped:]).messages
            if count(kept) <= room:
                return kept
        return None


def _brief(turn: tuple[Message, ...]) -> tuple[Message, ...]:
    return tuple(shorter_thoughts(message) for message in turn)


def _noted(opening: tuple[Message, ...], dropped: int) -> tuple[Message, ...]:
    """The opening, with a note at the end of its last message."""
    if not dropped or not opening:
        return opening
    last = opening[-1]
    turns = "1 earlier turn is" if dropped == 1 else f"{dropped} earlier turns are"
    return (*opening[:-1], {**last, "content": f"{last['content']}\n\n({turns} left out.)"})
