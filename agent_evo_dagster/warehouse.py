"""Parquet files of the assets: one per asset and round. Not what the frames mean, and no Dagster."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.files import write_atomic

_PART = re.compile(r"[A-Za-z0-9_.-]{1,120}")


class WarehouseError(AgentEvoError):
    """A frame that is not stored, or a name that cannot be stored."""


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The store at `root`: `<root>/<asset key>/<round>.parquet`."""

    root: Path

    def path(self, asset: Sequence[str], round_key: str) -> Path:
        """The file of one asset in one round.

        Raises:
            WarehouseError: a name that is not `[A-Za-z0-9_.-]{1,120}`.
        """
        for part in (*asset, round_key):
            if not _PART.fullmatch(part) or part.strip(".") == "":
                raise WarehouseError(
                    f"Cannot store {'/'.join(asset)!r} of {round_key!r}: {part!r} is not a name of "
                    "1 to 120 letters, digits, '_', '.' and '-'."
                )
        return self.root.joinpath(*asset, f"{round_key}.parquet")

    def write(self, asset: Sequence[str], round_key: str, frame: pl.DataFrame) -> Path:
        """Store `frame` atomically; equal frames give equal bytes."""
        path = self.path(asset, round_key)
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd", statistics=False)
        write_atomic(path, buffer.getvalue())
        return path

    def read(self, asset: Sequence[str], round_key: str) -> pl.DataFrame:
        """The stored frame.

        Raises:
            WarehouseError: nothing is stored there.
        """
        path = self.path(asset, round_key)
        if not path.is_file():
            raise WarehouseError(
                f"{'/'.join(asset)} of {round_key} is not stored (looked for {path}). "
                "Materialise it first: dagster asset materialize -m agent_evo_dagster.definitions "
                f"--select {'/'.join(asset)} --partition {round_key}"
            )
        return pl.read_parquet(path, memory_map=False, glob=False)

    def rounds(self, asset: Sequence[str]) -> list[str]:
        """Keys of the rounds that have this asset, by name."""
        return sorted(path.stem for path in self.root.joinpath(*asset).glob("*.parquet"))
