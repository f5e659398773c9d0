"""Frozen packages: a folder of files with their hashes, made once and never changed. No registry."""

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import sha256_bytes, sha256_file, write_atomic

INDEX = "package.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,119}")


class Package(BaseModel):
    """`package.json`: what the package holds and what it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    name: str
    about: dict[str, JsonValue]
    files: dict[str, str]  # POSIX path within the package -> SHA-256


def freeze_task_package(
    target: Path,
    *,
    files: Mapping[str, Path | bytes],
    manifest: Mapping[str, JsonValue],
    next_free: bool = False,
) -> Path:
    """Freeze `files` at `target`; there whole, or not at all. A package that is there never changes.

    Args:
        target: Folder of the package; its name is the package's.
        files: Path in the package -> bytes, a file, or a folder.
        manifest: What the package is: stored as `about`; no time and no path of this machine belongs in it.
        next_free: Where `target` exists with other content, freeze at `<target>.2`, `<target>.3` and so on;
            a package of these that has exactly this content is the answer, and none is made.

    Returns:
        Folder of the package with this content.

    Raises:
        SkillBankError: a package of that name exists with other content, or was damaged, or a name cannot
            be used.
    """
    if not _NAME.fullmatch(target.name):
        raise SkillBankError(f"package name {target.name!r}: use lower-case letters, digits, '.', '_', '-'.")
    content = dict(_expanded(files))
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        staged.chmod(0o755)
        wanted = Package(name=target.name, about=dict(manifest), files=_copied(content, staged))
        place = _place_for(wanted, target, next_free=next_free)
        if not place.exists():
            package = wanted.model_copy(update={"name": place.name})
            write_atomic(staged / INDEX, (package.model_dump_json(indent=2) + "\n").encode())
            staged.rename(place)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return place


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
        held = Package.model_validate_json((place / INDEX).read_bytes())
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


def verify_package(path: Path) -> list[str]:
    """What is wrong with a package, one message a problem; empty where it is as it was frozen."""
    try:
        package = Package.model_validate_json((path / INDEX).read_bytes())
    except (OSError, ValidationError) as error:
        return [f"{path / INDEX} cannot be read: {error}"]
    problems = (
        [] if package.name == path.name else [f"the package is {package.name!r}, its folder {path.name!r}"]
    )
    held = {found.relative_to(path).as_posix() for found in path.rglob("*") if not found.is_dir()} - {INDEX}
    problems += [f"{name} is missing" for name in sorted(set(package.files) - held)]
    problems += [f"{name} is not part of the package" for name in sorted(held - set(package.files))]
    for name in sorted(held & set(package.files)):
        if (path / name).is_symlink() or sha256_file(path / name) != package.files[name]:
            problems.append(f"{name} was changed")
    return problems


def _expanded(files: Mapping[str, Path | bytes]) -> Iterator[tuple[str, Path | bytes]]:
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


def _copied(content: Mapping[str, Path | bytes], folder: Path) -> dict[str, str]:
    """Copy everything into `folder`; returns the hashes of the copies, by name."""
    hashes = {}
    for name, source in sorted(content.items()):
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, bytes):
            copy.write_bytes(source)
            hashes[name] = sha256_bytes(source)
        else:
            try:
                shutil.copyfile(source, copy)
            except FileNotFoundError as error:
                raise SkillBankError(
                    f"{source}, for {name!r} of the package, does not exist; make it first."
                ) from error
            hashes[name] = sha256_file(copy)
    return hashes
