"""Frozen packages: a folder of files with their hashes, made once and never changed. No registry, no lock."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import sha256_bytes, sha256_file, write_atomic
from agent_evo_dagster.skills.packages.ids import Kind, PackageId

INDEX = "package.json"
STAGING = ".staging-"

Content = Mapping[str, Path | bytes]  # path in the package -> bytes, a file, or a folder


class Package(BaseModel):
    """`package.json`: what the package holds and what it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    name: str
    about: dict[str, JsonValue] = Field(description="What the package is; no time, no path of a machine.")
    files: dict[str, str] = Field(description="SHA-256 by the path within the package.")


@dataclass(frozen=True)
class Frozen:
    """A package on disk."""

    path: Path
    package: Package
    made: bool  # False: it was there already, with exactly this content


def freeze(
    target: Path, *, files: Content, about: Mapping[str, JsonValue], next_free: bool = False
) -> Frozen:
    """Freeze `files` at `target`; there whole, or not at all. A package that is there never changes.

    The caller holds what orders those who freeze beside it (`registry.freezing`).

    Args:
        target: Folder of the package; its name is the package's.
        files: Path in the package -> bytes, a file, or a folder.
        about: What the package is; no time and no path of this machine belongs in it.
        next_free: Where `target` exists with other content, freeze at `<target>.2`, `<target>.3` and so on;
            a package of these that has exactly this content is the answer, and none is made.

    Raises:
        SkillBankError: a package of that name exists with other content, or was damaged, or a name cannot
            be used.
    """
    PackageId(Kind.TASK, target.name)
    content = dict(_expanded(files))
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{STAGING}{target.name}."))
    try:
        staged.chmod(0o755)
        wanted = Package(name=target.name, about=dict(about), files=_copied(content, staged))
        place = _place_for(wanted, target, next_free=next_free)
        package = wanted.model_copy(update={"name": place.name})
        if place.exists():
            return Frozen(place, package, made=False)
        write_atomic(staged / INDEX, (package.model_dump_json(indent=2) + "\n").encode())
        staged.rename(place)
        return Frozen(place, package, made=True)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def planned(
    target: Path, *, files: Content, about: Mapping[str, JsonValue], next_free: bool = False
) -> Frozen:
    """What `freeze` would answer; nothing is written."""
    PackageId(Kind.TASK, target.name)
    wanted = Package(name=target.name, about=dict(about), files=_hashes(dict(_expanded(files))))
    place = _place_for(wanted, target, next_free=next_free)
    return Frozen(place, wanted.model_copy(update={"name": place.name}), made=not place.exists())


def read_package(path: Path) -> Package:
    """What a package says that it holds; the files are not looked at.

    Raises:
        SkillBankError: there is no package, or its index cannot be read.
    """
    try:
        return Package.model_validate_json((path / INDEX).read_bytes())
    except (OSError, ValidationError) as error:
        raise SkillBankError(f"{path / INDEX} cannot be read: {_first(error)}") from error


def verify_package(path: Path) -> list[str]:
    """What is wrong with a package, one message a problem; empty where it is as it was frozen."""
    try:
        package = read_package(path)
    except SkillBankError as error:
        return [str(error)]
    problems = (
        [] if package.name == path.name else [f"the package is {package.name!r}, its folder {path.name!r}"]
    )
    held = {found.relative_to(path).as_posix() for found in path.rglob("*") if not _is_folder(found)}
    held -= {INDEX}
    problems += [f"{name} is missing" for name in sorted(set(package.files) - held)]
    problems += [f"{name} is not part of the package" for name in sorted(held - set(package.files))]
    for name in sorted(held & set(package.files)):
        if (path / name).is_symlink() or sha256_file(path / name) != package.files[name]:
            problems.append(f"{name} was changed")
    return problems


def _place_for(wanted: Package, target: Path, *, next_free: bool) -> Path:
    """The package that has the wanted content already, or the name that is free for it."""
    place, number = target, 1
    while place.exists():
        problems = verify_package(place)
        if problems:
            raise SkillBankError(
                f"package {place.name!r} at {place} was damaged ({problems[0]}); a frozen package never "
                f"changes. Restore it, or move it away and run this again."
            )
        held = read_package(place)
        if (held.about, held.files) == (wanted.about, wanted.files):
            return place
        if not next_free:
            raise SkillBankError(
                f"package {target.name!r} exists at {target} with other content; a frozen package never "
                f"changes. Choose another name."
            )
        number += 1
        place = target.with_name(f"{target.name}.{number}")
    return place


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _first(error: OSError | ValidationError) -> str:
    return str(error.strerror) if isinstance(error, OSError) else str(error.errors()[0]["msg"])


def _expanded(files: Content) -> Iterator[tuple[str, Path | bytes]]:
    """Each file by its path in the package; folders give all that they hold."""
    for name, source in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or path.as_posix() != name or name in (INDEX, "."):
            raise SkillBankError(f"{name!r} cannot be a file of a package; give a plain relative path.")
        if isinstance(source, Path) and source.is_dir():
            found = sorted(item for item in source.rglob("*") if item.is_file())
            yield from ((f"{name}/{item.relative_to(source).as_posix()}", item) for item in found)
        else:
            yield name, source


def _copied(content: Content, folder: Path) -> dict[str, str]:
    """Copy everything into `folder`; returns the hashes of the copies, by name."""
    for name, source in sorted(content.items()):
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, bytes):
            copy.write_bytes(source)
            continue
        try:
            shutil.copyfile(source, copy)
        except FileNotFoundError as error:
            raise _gone(name, source) from error
    return _hashes({name: folder / name for name in content})


def _hashes(content: Content) -> dict[str, str]:
    """The hash of every file, by name."""
    found = {}
    for name, source in sorted(content.items()):
        try:
            found[name] = sha256_bytes(source) if isinstance(source, bytes) else sha256_file(source)
        except FileNotFoundError as error:
            raise _gone(name, source) from error
    return found


def _gone(name: str, source: Path | bytes) -> SkillBankError:
    return SkillBankError(f"{source!s}, for {name!r} of the package, does not exist; make it first.")
