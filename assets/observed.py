"""Sources that Dagster observes: made here, once, since the decorator is marked as beta in this version."""

import warnings
from collections.abc import Callable, Iterator

import dagster as dg

from assets.presentation import OWNER

Observations = Iterator[dg.ObserveResult]


def observed(
    spec: dg.AssetSpec,
) -> Callable[[Callable[..., Observations]], dg.AssetsDefinition]:
    """A source that rounds read and do not make; the decorated function finds its data version."""

    def decorate(function: Callable[..., Observations]) -> dg.AssetsDefinition:
        owned = spec.replace_attributes(owners=[OWNER])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dg.BetaWarning)
            make = dg.multi_observable_source_asset(name=spec.key.to_python_identifier(), specs=[owned])
            source: dg.AssetsDefinition = make(function)
        return source

    return decorate
