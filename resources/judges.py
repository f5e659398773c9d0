"""The judges beside probe and replay, as Dagster sees them. Not what a round gives them."""

from typing import Any

import dagster as dg


class JudgesResource(dg.ConfigurableResource[Any]):
    """The optional judges by name."""

    names: list[str]
