"""Settings blocks: the values in a skill's section that both an agent and a run read. No skill's names.

A block is a fenced `yaml` block whose first line is `# agent-evo:settings`, with one setting a line:
`learning_rate: {default: 2.0e-5, min: 1.0e-6, max: 2.0e-3, why: "..."}`.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.fences import Line, scan
from agent_evo_dagster.patches.front_matter import compose

MARKER = "# agent-evo:settings"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,18}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][-+]?[0-9]{1,3})?")
_KEYS = ("default", "min", "max", "why")


@dataclass(frozen=True)
class SettingSpec:
    """One setting: an integer where default, min and max all are, else a float."""

    name: str
    default: int | float
    min: int | float
    max: int | float
    why: str


@dataclass(frozen=True)
class _Located:
    """A setting, and where in the section's text its default stands."""

    spec: SettingSpec
    line: int  # from 1
    start: int  # within the line, from 0
    end: int


def read_settings(section_text: str, *, origin: str) -> list[SettingSpec]:
    """All settings of a section, in their order; an empty list where it has no block.

    Raises:
        PatchError: a block that is not well formed, or a default outside its range.
    """
    return [located.spec for located in _locate(section_text, origin)]


def with_default(section_text: str, name: str, value: int | float) -> str:
    """The section with one default changed, and every other byte as it was.

    Raises:
        PatchError: no such setting, or a value outside its range or of another kind.
    """
    found = [located for located in _locate(section_text, "section") if located.spec.name == name]
    if not found:
        raise PatchError(
            f"setting {name!r} is not in this section; look for it in the skill's other sections."
        )
    located = found[0]
    spec = located.spec
    number = _coerced(spec, value)
    if not spec.min <= number <= spec.max:
        raise PatchError(
            f"setting {name!r}: {value!r} is outside {spec.min!r} to {spec.max!r}; choose one within."
        )
    lines = section_text.split("\n")
    line = lines[located.line - 1]
    lines[located.line - 1] = line[: located.start] + format_number(number) + line[located.end :]
    return "\n".join(lines)


def format_number(value: int | float) -> str:
    """`value` as YAML 1.1 and 1.2 readers both take for the same number."""
    text = repr(value)
    mantissa, mark, exponent = text.partition("e")
    if not mark:
        return text
    sign = "-" if exponent.startswith("-") else "+"
    digits = exponent.lstrip("+-").lstrip("0") or "0"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{sign}{digits}"


def _coerced(spec: SettingSpec, value: int | float) -> int | float:
    """`value` as the kind of number that the setting holds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise PatchError(f"setting {spec.name!r}: {value!r} is not a finite number.")
    if all(isinstance(number, int) for number in (spec.default, spec.min, spec.max)):
        if value != int(value):
            raise PatchError(f"setting {spec.name!r} is a whole number; {value!r} is not.")
        return int(value)
    return float(value)


def _locate(section_text: str, origin: str) -> list[_Located]:
    """Every setting with its place."""
    located = [
        _read_line(line, f"{origin}, line {line.number}")
        for line in _block_lines(section_text, origin)
        if line.text.strip() and not line.text.lstrip().startswith("#")
    ]
    names: set[str] = set()
    for setting in located:
        if setting.spec.name in names:
            raise PatchError(f"{origin}, line {setting.line}: setting {setting.spec.name!r} is given twice.")
        names.add(setting.spec.name)
    return located


def _block_lines(section_text: str, origin: str) -> Iterator[Line]:
    """The lines within settings blocks, without fences and marker."""
    block = 0
    for line in scan(section_text):
        if line.part == "code" and line.fence == line.number - 1 and line.text.strip() == MARKER:
            if line.info.split()[:1] not in (["yaml"], ["yml"]):
                raise PatchError(f"{origin}, line {line.number}: a settings block must be fenced as `yaml`.")
            block = line.fence
        elif line.part == "code" and line.fence == block:
            yield line


def _read_line(line: Line, origin: str) -> _Located:
    """One setting of one line."""
    try:
        node = compose(line.text)
    except (yaml.YAMLError, RecursionError) as error:
        raise PatchError(f"{origin}: not valid YAML; write one setting a line: {_EXAMPLE}.") from error
    if not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
        raise PatchError(f"{origin}: write one setting a line: {_EXAMPLE}.")
    name_node, fields = node.value[0]
    name = str(name_node.value)
    if not _NAME.fullmatch(name) or not isinstance(fields, yaml.MappingNode):
        raise PatchError(f"{origin}: {name!r} is not a setting; write {_EXAMPLE}.")
    values = {str(key.value): value for key, value in fields.value}
    if len(fields.value) != len(_KEYS) or set(values) != set(_KEYS):
        raise PatchError(
            f"{origin}: setting {name!r} needs exactly {', '.join(_KEYS)}; found {sorted(values)}."
        )
    numbers = {
        key: _number(values[key], line.text, f"{origin}: setting {name!r}, `{key}`") for key in _KEYS[:3]
    }
    why = values["why"].value
    if not isinstance(why, str) or not why.strip():
        raise PatchError(f"{origin}: setting {name!r} needs a `why` in words.")
    spec = SettingSpec(name, numbers["default"], numbers["min"], numbers["max"], why)
    if not spec.min <= spec.default <= spec.max:
        raise PatchError(
            f"{origin}: setting {name!r}: default {spec.default!r} is outside {spec.min!r} to {spec.max!r}."
        )
    place = values["default"]
    return _Located(spec, line.number, place.start_mark.index, place.end_mark.index)


_EXAMPLE = '`name: {default: 1, min: 0, max: 2, why: "..."}`'


def _number(node: yaml.Node, line: str, what: str) -> int | float:
    """A plain number; `1e-5` is one here, though YAML 1.1 takes it for text.

    No tag or anchor stands before it: they are words that would pass for a part of the number.
    """
    text = node.value
    written = line[node.start_mark.index : node.end_mark.index]
    if isinstance(node, yaml.ScalarNode) and not node.style and written == text:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
    raise PatchError(f"{what}: expected a number, found {written!r}.")
