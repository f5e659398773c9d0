"""The seam between segment building and its strategies: what a segmenter is given and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_evo_dagster.segments.types import SegmentKind
from agent_evo_dagster.segments.view import TrajectoryView


@dataclass(frozen=True, slots=True)
class Claim:
    """Steps that belong together. `parent` is the place of another claim in the same answer."""

    kind: SegmentKind
    steps: tuple[int, ...]  # positions in the view, rising
    skill: str | None = None
    anchor: str | None = None  # "tool" | "slash"
    parent: int | None = None


class Segmenter(Protocol):
    """One way to see meaning in a trajectory. Segmenters stand in a chain: each claims from what is left."""

    @property
    def name(self) -> str:
        """The name that its segments carry."""
        ...

    def claim(self, view: TrajectoryView, unclaimed: Sequence[int]) -> list[Claim]:
        """Segments among `unclaimed` positions, each position at most once; the rest goes down the chain."""
        ...
