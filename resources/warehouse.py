"""The warehouse as Dagster sees it: an IO manager for frames, and the store for reading other rounds."""

from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from agent_evo_dagster.warehouse import Warehouse


class WarehouseResource(dg.ConfigurableResource[Any]):
    """The store below `root`."""

    root: str

    def store(self) -> Warehouse:
        """The store as the library knows it."""
        return Warehouse(Path(self.root))


class WarehouseIOManager(dg.ConfigurableIOManager):
    """Stores each asset's frame as one Parquet file per round."""

    root: str

    def handle_output(self, context: dg.OutputContext, obj: pl.DataFrame) -> None:
        """Write the frame of this asset and round, atomically."""
        path = Warehouse(Path(self.root)).write(context.asset_key.path, context.partition_key, obj)
        context.add_output_metadata(
            {"rows": obj.height, "bytes": path.stat().st_size, "path": dg.MetadataValue.path(path)}
        )

    def load_input(self, context: dg.InputContext) -> pl.DataFrame:
        """Read the frame of the upstream asset in the same round."""
        return Warehouse(Path(self.root)).read(context.asset_key.path, context.partition_key)
