"""The warehouse: equal frames give equal bytes, names cannot leave it, a miss says what to run."""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from agent_evo_dagster.warehouse import Warehouse, WarehouseError

FRAME = pl.DataFrame({"id": ["a", "b"], "ids": [[1, 2], []], "at": [1.5, None]})


def test_a_frame_reads_back_equal_and_its_bytes_repeat(tmp_path: Path) -> None:
    store = Warehouse(tmp_path)
    first = store.write(("skills", "rllm", "rllm-config"), "round-0001", FRAME).read_bytes()
    assert store.write(("skills", "rllm", "rllm-config"), "round-0001", FRAME).read_bytes() == first
    assert_frame_equal(store.read(("skills", "rllm", "rllm-config"), "round-0001"), FRAME)


def test_an_asset_whose_key_begins_with_another_keeps_both(tmp_path: Path) -> None:
    store = Warehouse(tmp_path)
    store.write(("skills",), "round-0001", FRAME)
    store.write(("skills", "round-0001"), "round-0001", FRAME.head(1))
    assert store.read(("skills",), "round-0001").height == 2


@pytest.mark.parametrize("name", ["../x", "a/b", "", "..", "a\n", "x" * 121, "a,b"])
def test_a_name_that_is_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(WarehouseError, match="is not a name"):
        Warehouse(tmp_path).path((name,), "round-0001")


def test_a_missing_frame_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="--select segments --partition round-0002"):
        Warehouse(tmp_path).read(("segments",), "round-0002")


def test_the_rounds_of_an_asset_are_listed(tmp_path: Path) -> None:
    store = Warehouse(tmp_path)
    store.write(("segments",), "round-0002", FRAME)
    store.write(("segments",), "round-0001", FRAME)
    assert store.rounds(("segments",)) == ["round-0001", "round-0002"]
