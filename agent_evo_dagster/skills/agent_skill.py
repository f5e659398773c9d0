"""The front matter of a SKILL.md as agents read it: agentskills.io's rules, one quoted description."""

import re
from collections.abc import Iterator

import yaml

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.front_matter import quoted
from agent_evo_dagster.strict_yaml import load_mapping

MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
# The fields of agentskills.io; readers that are strict refuse a skill with any other.
STANDARD_FIELDS = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_QUOTED = re.compile(
    r"""description:[ \t]*(?:"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\r\n]|'')*')[ \t]*(?:#[^\r\n]*)?\r?\n"""
)
_PLAIN = re.compile(
    r"""description:[ \t]+(?P<value>[^\s"'>|&*!\[\]{}#%@`][^\r\n]*?)[ \t]*(?P<tail>[ \t]#[^\r\n]*)?\r?\n"""
)


def check_name(name: str, *, what: str) -> None:
    """Refuse a name that agents could not load or that could leave its folder.

    Raises:
        SkillBankError: not lower-case words joined by hyphens, or too long.
    """
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise SkillBankError(
            f"{what} {name!r}: use lower-case words joined by single hyphens, at most {MAX_NAME}."
        )


def compiled_head(head: str, *, name: str, origin: str, as_is: bool = False) -> str:
    """The front matter to compile: the description as one quoted line, every other byte as it is.

    `as_is` leaves the description as well.

    Raises:
        SkillBankError: not valid, or a name or description that agents would not accept.
    """
    written = head if as_is else _written(head, origin)
    for problem in _field_problems(written, name, origin):
        raise SkillBankError(problem)
    return written


def head_problems(head: str, *, name: str, origin: str, as_is: bool = False) -> Iterator[str]:
    """Everything for which `compiled_head` refuses a front matter."""
    try:
        yield from _field_problems(head if as_is else _written(head, origin), name, origin)
    except SkillBankError as error:
        yield str(error)


def over_lines(head: str) -> bool:
    """Whether the description is written over several lines, which some readers take literally."""
    inner = head.split("\n", 1)[1]
    at = re.search(r"^description:", inner, re.MULTILINE)
    if at is None or _QUOTED.match(inner, at.start()):
        return False
    plain = _PLAIN.match(inner, at.start())
    return plain is None or re.match(r"[ \t]+\S", inner[plain.end() :]) is not None


def head_fields(head: str, origin: str) -> dict[str, object]:
    """The fields of a front matter with its fences.

    Raises:
        SkillBankError: not valid YAML.
    """
    inner = head.split("\n", 1)[1]
    return load_mapping(inner[: inner.rindex("---")], origin=origin, error=SkillBankError, first_line=2)


def _written(head: str, origin: str) -> str:
    """The front matter with its description quoted."""
    first, rest = head.split("\n", 1)
    inner = rest[: rest.rindex("---")]
    return f"{first}\n{_with_quoted_description(inner, origin)}{rest[rest.rindex('---') :]}"


def _field_problems(head: str, name: str, origin: str) -> Iterator[str]:
    """The rules on what the fields hold; raises where they cannot be read."""
    fields = head_fields(head, origin)
    if fields.get("name") != name:
        yield (
            f"{_place(head, 'name', origin)}: `name` is {fields.get('name')!r}; "
            f"it must be the folder's name, {name!r}."
        )
    description, place = fields.get("description"), _place(head, "description", origin)
    if not isinstance(description, str) or not description.strip():
        yield f"{place}: `description` is missing; say what the skill does and when to use it."
    elif len(description) > MAX_DESCRIPTION:
        yield f"{place}: `description` has {len(description)} characters; shorten it to {MAX_DESCRIPTION}."
    compatibility = fields.get("compatibility")
    if isinstance(compatibility, str) and len(compatibility) > MAX_COMPATIBILITY:
        place = _place(head, "compatibility", origin)
        yield f"{place}: `compatibility` is longer than {MAX_COMPATIBILITY} characters; shorten it."


def _place(head: str, field: str, origin: str) -> str:
    """File and line of a field; the first line where it is missing."""
    at = re.search(rf"^{field}[ \t]*:", head, re.MULTILINE)
    return f"{origin}, line {1 if at is None else head.count(chr(10), 0, at.start()) + 1}"


def _with_quoted_description(inner: str, origin: str) -> str:
    """The YAML with its top-level description on one quoted line."""
    at = re.search(r"^description:", inner, re.MULTILINE)
    if at is None or _QUOTED.match(inner, at.start()):
        return inner
    plain = _PLAIN.match(inner, at.start())
    if plain and not re.match(r"[ \t]+\S", inner[plain.end() :]):
        return inner[: plain.start("value")] + quoted(plain["value"]) + inner[plain.end("value") :]
    return _folded(inner, origin)


def _folded(inner: str, origin: str) -> str:
    """The same for a description over several lines, in any of YAML's forms."""
    load_mapping(inner, origin=origin, error=SkillBankError, first_line=2)
    root = yaml.compose(inner, Loader=yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    node = next(value for key, value in pairs if key.value == "description")
    if not isinstance(node, yaml.ScalarNode) or node.start_mark.index == node.end_mark.index:
        raise SkillBankError(f"{origin}: `description` must be text on one line.")
    end = "\r\n" if "\r\n" in inner else "\n"
    after = inner[node.end_mark.index :]
    kept = "" if after.startswith(("\n", "\r")) else end
    return inner[: node.start_mark.index] + quoted(" ".join(str(node.value).split())) + kept + after
