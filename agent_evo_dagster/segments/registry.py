"""The chain of segmenters: the shipped ones by name, a user's own by import path `package.module:Class`."""

from collections.abc import Sequence
from typing import Final, cast

from agent_evo_dagster.errors import SegmentError
from agent_evo_dagster.imports import made_from
from agent_evo_dagster.segments.strategy import Segmenter

SHIPPED: Final = {
    "skill": "agent_evo_dagster.segments.skill:SkillSegmenter",
    "free": "agent_evo_dagster.segments.free:FreeSegmenter",
}
DEFAULT_CHAIN: Final = ("skill", "free")


def segmenters(chain: Sequence[str | Segmenter]) -> list[Segmenter]:
    """The segmenters of a chain, in order; one that is given as an object is taken as it is.

    Raises:
        SegmentError: one cannot be loaded, or the chain is empty.
    """
    if not chain:
        raise SegmentError("The chain of segmenters is empty. Name at least 'free', which takes every step.")
    return [_load(item) if isinstance(item, str) else item for item in chain]


def _load(name: str) -> Segmenter:
    path = SHIPPED.get(name, name)
    if ":" not in path:
        raise SegmentError(
            f"There is no segmenter {name!r}. Shipped: {', '.join(SHIPPED)}; "
            "your own by import path, as 'package.module:Class'."
        )
    made = made_from(path, kind="segmenter", error=SegmentError)
    if not isinstance(getattr(made, "name", None), str) or not callable(getattr(made, "claim", None)):
        raise SegmentError(
            f"{name!r} is no segmenter: it needs a `name` and a method `claim(view, unclaimed)`; "
            "see agent_evo_dagster.segments.strategy."
        )
    return cast(Segmenter, made)
