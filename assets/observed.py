"""Sources that Dagster observes: made here, once, since the decorator is marked as beta in this version."""

import warnings
from collections.abc import Callable
from typing import Any

import dagster as dg


def observed(
    name: str, *, group_name: str, description: str
) -> Callable[[Callable[..., dg.DataVersion]], Any]:
    """A source asset whose data version the decorated function finds."""

    def decorate(function: Callable[..., dg.DataVersion]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dg.BetaWarning)
            return dg.observable_source_asset(name=name, group_name=group_name, description=description)(
                function
            )

    return decorate
