"""Parts of a run that a person wrote: found by file or import path. Code of theirs runs with our rights.

References reach this from a person's flags or files alone: config_sources refuses them from skills and
from requests in plain language.
"""

import hashlib
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from agent_evo_dagster.errors import TrainingError

Part = TypeVar("Part")

MAX_BYTES = 1_000_000


def is_reference(text: str) -> bool:
    """Whether `text` names code, and not a part that is shipped."""
    return ":" in text or text.endswith(".py") or "." in text


def load_object(reference: str, setting: str) -> object:
    """What `FILE.py:Name` or `package.module:Name` names.

    Raises:
        TrainingError: there is no such file, module or name, or importing it fails.
    """
    place, _, name = reference.rpartition(":")
    if not place or not name.isidentifier():
        raise TrainingError(
            f"{setting} = {reference!r} names no part of yours: write FILE.py:Name or package.module:Name."
        )
    found: object = getattr(_module(place, setting), name, None)
    if found is None:
        raise TrainingError(f"{setting} = {reference!r}: {place} defines no {name}.")
    return found


def load_class(reference: str, base: type[Part], setting: str) -> type[Part]:
    """The subclass of `base` that is named, or the only one in a file or module named without it.

    Raises:
        TrainingError: there is none, or more than one, or it is not derived from `base`.
    """
    if ":" in reference:
        found = load_object(reference, setting)
        if isinstance(found, type) and issubclass(found, base) and not inspect.isabstract(found):
            return found
        raise TrainingError(f"{setting} = {reference!r} is no class that derives from {base.__name__} whole.")
    module = _module(reference, setting)
    own = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, base) and each.__module__ == module.__name__
    ]
    if len(own) != 1:
        names = ", ".join(sorted(each.__name__ for each in own)) or "none"
        raise TrainingError(
            f"{setting} = {reference!r} must define one class that derives from {base.__name__}; it defines "
            f"{names}. Name the one: {reference}:Name."
        )
    return own[0]


def file_of(reference: str) -> Path | None:
    """The file that a reference names, or None where it names a module."""
    place = reference.rpartition(":")[0] or reference
    return Path(place) if place.endswith(".py") else None


def located(reference: str, folder: Path) -> str:
    """The same reference, its file taken from `folder`: for a process that works elsewhere."""
    path = file_of(reference)
    if path is None:
        return reference
    name = (
        reference[len(str(path)) :] if reference.startswith(str(path)) else reference[reference.rfind(":") :]
    )
    return f"{(folder / path).absolute()}{name}"


def _module(place: str, setting: str) -> ModuleType:
    try:
        return _from_file(Path(place), setting) if place.endswith(".py") else importlib.import_module(place)
    except TrainingError:
        raise
    except Exception as error:  # whatever their code raises while it is imported
        raise TrainingError(
            f"{setting}: {place} cannot be imported ({type(error).__name__}: {error})."
        ) from error


def _from_file(path: Path, setting: str) -> ModuleType:
    """The module in a file, imported once however often it is named."""
    if not path.is_file():
        raise TrainingError(f"{setting}: there is no file {path}.")
    body = path.read_bytes()
    if len(body) > MAX_BYTES:
        raise TrainingError(f"{setting}: {path} has {len(body):,} bytes; at most {MAX_BYTES:,} are read.")
    name = f"agent_evo_part_{hashlib.sha256(str(path.absolute()).encode() + body).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # the name ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
