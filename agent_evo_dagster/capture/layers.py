"""The layer of a session, told by the skills that it used. Not what a layer is for."""

from collections import Counter
from collections.abc import Iterable

from agent_evo_dagster.capture.types import Layer

_PREFIXES = {"rllm-": Layer.RLLM, "traj-": Layer.TRAJ, "meta-": Layer.META}


def layer_of(skills: Iterable[str]) -> Layer:
    """The layer that most of a session's skill uses belong to; the earliest used one among equals.

    A plug-in's prefix (`plugin:skill`) is passed over. Skills of no layer do not count.
    """
    counts: Counter[Layer] = Counter()
    for skill in skills:
        name = skill.rpartition(":")[2]
        layer = next((layer for prefix, layer in _PREFIXES.items() if name.startswith(prefix)), None)
        if layer is not None:
            counts[layer] += 1
    return counts.most_common(1)[0][0] if counts else Layer.UNKNOWN
