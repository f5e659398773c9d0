"""A training configuration in a YAML or JSON file, in our own keys or in those of `agentic_rl`.

Our own: fields of TrainingConfig at the top, `request` in plain language, and `deployment` with its fields.
A file with `train_backend` is one of `agentic_rl`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.strict_yaml import read_mapping
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.old_keys import NESTED, SHARED, Label, Meaning, Only, Place, Setting, Value

OLD_FORMAT = "train_backend"


@dataclass
class ConfigFile:
    """What a file asks for; `notes` says of each key that decides nothing why that is so."""

    settings: dict[str, Value] = field(default_factory=dict)
    deployment: dict[str, Any] = field(default_factory=dict)
    request: str = ""
    notes: dict[str, str] = field(default_factory=dict)


def read_config_file(path: Path) -> ConfigFile:
    """What the file asks for.

    Raises:
        TrainingError: it cannot be read, or has keys or values that would be ignored; all are named.
    """
    document = read_mapping(path, error=TrainingError)
    if not document:
        raise TrainingError(f"{path} asks for nothing: it must hold settings by name.")
    found, problems = ConfigFile(), list[str]()
    if OLD_FORMAT in document:
        _read_old(document, found, problems)
    else:
        _read_own(document, found, problems)
    if problems:
        raise TrainingError(f"{path} cannot be used as given:\n  " + "\n  ".join(problems))
    return found


def _read_own(document: Mapping[str, Any], found: ConfigFile, problems: list[str]) -> None:
    for name, value in document.items():
        if name == "request" and isinstance(value, str):
            found.request = value
        elif name == "deployment" and isinstance(value, dict):
            found.deployment = value
        elif name not in TrainingConfig.model_fields:
            problems.append(f"{name} is no training setting; see agent-evo config check --all")
        elif not isinstance(value, bool | int | float | str):
            problems.append(f"{name} is {_shown(value)}; a setting has one value")
        else:
            found.settings[name] = value


def _read_old(document: Mapping[str, Any], found: ConfigFile, problems: list[str]) -> None:
    backend = document[OLD_FORMAT]
    fraction = document.get("lr_warmup_fraction")
    for name, value, meaning in _old_keys(document, str(backend), problems):
        if name == "lr_warmup_fraction":
            continue  # a share of the steps: below, when these are known
        if problem := _take(name, value, meaning, found):
            problems.append(problem)
    if "lr_warmup_fraction" in document:
        _take_warmup(fraction, found, problems)


def _take_warmup(fraction: Any, found: ConfigFile, problems: list[str]) -> None:
    """A share of the steps, as steps."""
    steps = found.settings.get("max_steps", TrainingConfig.model_fields["max_steps"].default)
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in (fraction, steps)):
        problems.append(f"lr_warmup_fraction is {fraction!r} of {steps!r} steps; both must be numbers")
    else:
        found.settings["warmup_steps"] = round(fraction * float(steps))


def _old_keys(
    document: Mapping[str, Any], backend: str, problems: list[str]
) -> Iterator[tuple[str, Any, Meaning]]:
    for name, value in document.items():
        if name in NESTED:
            if name != backend:
                problems.append(f"{name}: is a section of another backend than {OLD_FORMAT}: {backend}")
            elif isinstance(value, dict):
                yield from _known(name, value, NESTED[name], problems)
            else:
                problems.append(f"{name} must be a section; it is {_shown(value)}")
        else:
            yield from _known("", {name: value}, SHARED, problems)


def _known(
    section: str, values: Mapping[str, Any], meanings: Mapping[str, Meaning], problems: list[str]
) -> Iterator[tuple[str, Any, Meaning]]:
    for key, value in values.items():
        name = f"{section}.{key}" if section else str(key)
        if key in meanings:
            yield name, value, meanings[key]
        else:
            problems.append(f"{name} is no key of agentic_rl that has a counterpart here")


def _take(name: str, value: Any, meaning: Meaning, found: ConfigFile) -> str | None:
    """Put the value of an old key where it belongs; returns what is wrong with it."""
    match meaning:
        case Label(why):
            found.notes[name] = why
        case Only(values, why):
            if value not in values:
                wanted = " or ".join(map(repr, values))
                return f"{name}: {_shown(value)} cannot be had, only {wanted}: {why}"
            found.notes[name] = why
        case Place(paths):
            for path in paths:
                _put(found.deployment, path.split("."), value)
        case Setting(names, convert):
            if not isinstance(value, bool | int | float | str):
                return f"{name} is {_shown(value)}; a setting has one value"
            found.settings.update(dict.fromkeys(names, convert(value)))
    return None


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
    tree[path[-1]] = value


def _shown(value: object) -> str:
    """A value as an error tells it: in bounds."""
    return repr(value)[:80]
