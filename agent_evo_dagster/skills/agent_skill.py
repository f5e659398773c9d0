"""The front matter of a SKILL.md as agents read it: agentskills.io's rules, one quoted description."""

import re
from collections.abc import Iterator, Mapping

import yaml

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.front_matter import load_mapping, quoted

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


def compiled_head(head: str, *, name: str, origin: str) -> str:
    """The front matter to compile: the description as one quoted line, every other byte as it is.

    Raises:
        SkillBankError: not valid, or a name or description that agents would not accept.
    """
    written = _written(head, origin)
    for problem in _field_problems(head_fields(written, origin), name, origin):
        raise SkillBankError(problem)
    return written


def head_problems(head: str, *, name: str, origin: str) -> Iterator[str]:
    """Everything for which `compiled_head` refuses a front matter."""
    try:
        fields = head_fields(_written(head, origin), origin)
    except SkillBankError as error:
        yield str(error)
        return
    yield from _field_problems(fields, name, origin)


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


def _field_problems(fields: Mapping[str, object], name: str, origin: str) -> Iterator[str]:
    """The rules on what the fields hold."""
    if fields.get("name") != name:
        yield f"{origin}: `name` is {fields.get('name')!r}; it must be the folder's name, {name!r}."
    description = fields.get("description")
    if not isinstance(description, str) or not description.strip():
        yield f"{origin}: `description` is missing; say what the skill does and when to use it."
    elif len(description) > MAX_DESCRIPTION:
        yield f"{origin}: `description` has {len(description)} characters; shorten it to {MAX_DESCRIPTION}."
    compatibility = fields.get("compatibility")
    if isinstance(compatibility, str) and len(compatibility) > MAX_COMPATIBILITY:
        yield f"{origin}: `compatibility` is longer than {MAX_COMPATIBILITY} characters; shorten it."


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
