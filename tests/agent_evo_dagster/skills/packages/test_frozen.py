"""Packages are frozen whole, once, and every later change of them is found."""

from pathlib import Path

import pytest

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.skills.packages.frozen import freeze, planned, verify_package


def made(folder: Path, text: bytes = b"{}", *, next_free: bool = False) -> Path:
    checkpoint = folder / "source"
    (checkpoint / "deep").mkdir(parents=True, exist_ok=True)
    (checkpoint / "model.safetensors").write_bytes(b"weights")
    (checkpoint / "deep/config.json").write_bytes(b"{}")
    files: dict[str, Path | bytes] = {
        "metrics.json": text,
        "checkpoint": checkpoint,
        "one.bin": checkpoint / "model.safetensors",
    }
    return freeze(
        folder / "packages" / "round-0001",
        files=files,
        about={"round": "round-0001"},
        next_free=next_free,
    ).path


def test_a_package_holds_files_bytes_and_folders_with_their_hashes(tmp_path: Path) -> None:
    package = made(tmp_path)
    assert sorted(path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()) == [
        "checkpoint/deep/config.json",
        "checkpoint/model.safetensors",
        "metrics.json",
        "one.bin",
        "package.json",
    ]
    assert verify_package(package) == []
    assert [path.name for path in package.parent.iterdir()] == ["round-0001"]


def test_freezing_the_same_again_changes_nothing(tmp_path: Path) -> None:
    before = (made(tmp_path) / "package.json").stat().st_mtime_ns
    assert (made(tmp_path) / "package.json").stat().st_mtime_ns == before


def test_a_name_that_exists_with_other_content_is_refused(tmp_path: Path) -> None:
    package = made(tmp_path)
    with pytest.raises(SkillBankError, match="never changes"):
        made(tmp_path, b"other")
    assert verify_package(package) == []
    assert (package / "metrics.json").read_bytes() == b"{}"


def test_other_content_goes_under_the_next_free_name_and_equal_content_is_frozen_once(tmp_path: Path) -> None:
    texts = [b"{}", b"[]", b"1", b"[]", b"{}"]
    packages = [made(tmp_path, text, next_free=True) for text in texts]
    names = ["round-0001", "round-0001.2", "round-0001.3", "round-0001.2", "round-0001"]
    assert [package.name for package in packages] == names
    assert [(package / "metrics.json").read_bytes() for package in packages] == texts
    assert sorted(path.name for path in packages[0].parent.iterdir()) == sorted(set(names))
    assert [verify_package(package) for package in packages] == [[]] * 5


def test_a_damaged_package_is_not_taken_for_the_same(tmp_path: Path) -> None:
    (made(tmp_path) / "one.bin").write_bytes(b"x")
    for next_free in (False, True):
        with pytest.raises(SkillBankError, match=r"one\.bin was changed.*never changes"):
            made(tmp_path, next_free=next_free)


def test_every_kind_of_change_is_found(tmp_path: Path) -> None:
    package = made(tmp_path)
    (package / "metrics.json").write_bytes(b"[]")
    (package / "one.bin").unlink()
    (package / "new.txt").write_text("x")
    moved = package.rename(package.parent / "other")
    assert verify_package(moved) == [
        "the package is 'round-0001', its folder 'other'",
        "one.bin is missing",
        "new.txt is not part of the package",
        "metrics.json was changed",
    ]
    (moved / "package.json").write_text("{")
    assert "cannot be read" in verify_package(moved)[0]


@pytest.mark.parametrize("name", ["../x", "/x", "package.json", "a//b", "."])
def test_files_stay_within_the_package(tmp_path: Path, name: str) -> None:
    with pytest.raises(SkillBankError, match="plain relative path"):
        freeze(tmp_path / "p", files={name: b""}, about={})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["Up", ".hidden", "a b", "x" * 121])
def test_package_names_are_plain(tmp_path: Path, name: str) -> None:
    with pytest.raises(SkillBankError, match="package name"):
        freeze(tmp_path / name, files={}, about={})


def test_a_missing_source_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SkillBankError, match=r"'a' of the package, does not exist"):
        freeze(tmp_path / "p", files={"a": tmp_path / "gone"}, about={})
    assert list(tmp_path.iterdir()) == []


def test_a_plan_says_what_freezing_would_do_and_writes_nothing(tmp_path: Path) -> None:
    plan = planned(tmp_path / "p", files={"a": b"1"}, about={"x": 1})
    assert (plan.made, list(tmp_path.iterdir())) == (True, [])
    made_now = freeze(tmp_path / "p", files={"a": b"1"}, about={"x": 1})
    assert made_now.package == plan.package
    assert not planned(tmp_path / "p", files={"a": b"1"}, about={"x": 1}).made
    with pytest.raises(SkillBankError, match="never changes"):
        planned(tmp_path / "p", files={"a": b"2"}, about={"x": 1})
    assert planned(tmp_path / "p", files={"a": b"2"}, about={"x": 1}, next_free=True).path.name == "p.2"


def test_a_link_in_a_package_is_found(tmp_path: Path) -> None:
    package = made(tmp_path)
    (package / "one.bin").unlink()
    (package / "one.bin").symlink_to(tmp_path / "source/model.safetensors")
    (package / "more").symlink_to(tmp_path)
    assert verify_package(package) == ["more is not part of the package", "one.bin was changed"]
