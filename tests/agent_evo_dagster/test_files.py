"""Atomic files: a failure leaves the old bytes, a tree is replaced whole, a hash sees names and bytes."""

import os
from pathlib import Path

import pytest

from agent_evo_dagster.files import create_atomic, replace_tree, sha256_tree, write_atomic


def test_a_write_that_fails_leaves_the_old_bytes_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file"
    write_atomic(target, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(target, b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    target = tmp_path / "folder" / "file"
    create_atomic(target, b"first", mode=0o600)
    create_atomic(target, b"second")
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"first", 0o600)
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_a_tree_takes_the_place_of_the_older_one(tmp_path: Path) -> None:
    for name, text in (("old", "1"), ("new", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(text)
    replace_tree(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old" / "file").read_text() == "2"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_the_hash_of_a_tree_sees_names_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    first = sha256_tree(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    second = sha256_tree(tmp_path)
    (tmp_path / "b").write_text("2")
    assert len({first, second, sha256_tree(tmp_path)}) == 3
