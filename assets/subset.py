"""The results of a multi-asset that a run asked for. All are computed together; the rest are not stored."""

from collections.abc import Iterable

import dagster as dg
import polars as pl

from assets.presentation import Results


def asked(
    context: dg.AssetExecutionContext, results: Iterable[dg.MaterializeResult[pl.DataFrame]]
) -> Results:
    """The results of the selected assets, each with those of its checks that are selected."""
    for result in results:
        assert isinstance(result.asset_key, dg.AssetKey)
        if result.asset_key in context.selected_asset_keys:
            checks = [
                item._replace(asset_key=result.asset_key)
                for item in result.check_results or []
                if dg.AssetCheckKey(result.asset_key, str(item.check_name))
                in context.selected_asset_check_keys
            ]
            yield result._replace(check_results=checks)
