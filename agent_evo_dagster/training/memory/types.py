"""The seam of memories. No agent."""

from collections.abc import Sequence
from typing import Protocol

from agent_evo_dagster.training.rollout.types import Count


class Memory(Protocol):
    """What is kept of a conversation that has grown too long."""

    def shorten(
        self, messages: Sequence[dict[str, str]], room: int, count: Count
    ) -> list[dict[str, str]] | None:
        """`messages` within `room` tokens, as `count` counts them; None where that cannot be.

        What is kept ends where `messages` end, so that the next turn continues the last.
        """
        ...
