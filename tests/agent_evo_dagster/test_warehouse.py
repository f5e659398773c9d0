"""The warehouse: equal frames give equal bytes, names cannot leave it, a miss says what to run."""

import subprocess
import sys
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


def test_a_root_whose_name_is_a_pattern_is_a_name(tmp_path: Path) -> None:
    store = Warehouse(tmp_path / "a [b]*")
    store.write(("segments",), "round-0001", FRAME)
    assert_frame_equal(store.read(("segments",), "round-0001"), FRAME)


WRITER = """
import sys
from pathlib import Path
import polars as pl
from agent_evo_dagster.warehouse import Warehouse

store, writer = Warehouse(Path(sys.argv[1])), int(sys.argv[2])
sys.stdin.readline()
for number in range(1, 26):
    frame = pl.DataFrame({"writer": [writer] * 500, "number": [number] * 500})
    store.write(("own",), f"round-{writer}{number:04d}", frame)
    store.write(("shared",), "round-0001", frame)
    held = store.read(("shared",), "round-0001")
    assert held.height == 500 and held.n_unique() == 1, held
"""


def test_four_writers_at_once_lose_nothing_and_tear_nothing(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(number)], stdin=subprocess.PIPE)
        for number in range(4)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.close()
    assert [writer.wait(120) for writer in writers] == [0] * 4
    store = Warehouse(tmp_path)
    assert len(store.rounds(("own",))) == 100
    for key in store.rounds(("own",)):
        frame = store.read(("own",), key)
        assert frame.rows()[0] == (int(key[6]), int(key[7:])) and frame.height == 500
    assert store.read(("shared",), "round-0001")["number"].unique().to_list() == [25]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".parquet"]
