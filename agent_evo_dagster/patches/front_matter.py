"""Front matter and other small YAML: found, read strictly, written as quoted scalars. No field's meaning."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from agent_evo_dagster.errors import AgentEvoError

_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?P<yaml>(?:.*\n)*?)---[ \t]*(?:\r?\n|\Z)")
_MAX_NESTING = 40
_ESCAPED = re.compile(
    r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]"
)
_NESTED = re.compile(r"(?:[\[{][ \t\r\n]*){40}|(?:[-?:] +){40}")


@dataclass(frozen=True)
class FrontMatter:
    """A document cut in two: `head` has both fence lines, `yaml` what lies between them."""

    head: str
    yaml: str
    body: str


def split_front_matter(text: str) -> FrontMatter | None:
    """Cut `text` after its front matter; None where it begins with none or never closes it."""
    found = _FRONT_MATTER.match(text)
    if found is None:
        return None
    return FrontMatter(found.group(), found["yaml"], text[found.end() :])


def quoted(text: str) -> str:
    """`text` as a double-quoted scalar on one line that every YAML reader takes for the same string."""
    written = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", written)


def quoted_list(items: Sequence[str]) -> str:
    """`items` as a flow sequence of quoted scalars on one line."""
    return f"[{', '.join(map(quoted, items))}]"


def compose(text: str) -> yaml.Node | None:
    """The YAML nodes of `text` with their places, read by the fast reader where PyYAML has it."""
    return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def load_mapping(
    text: str, *, origin: str, error: type[AgentEvoError], first_line: int = 1
) -> dict[str, object]:
    """Read YAML that must be one mapping; duplicate keys, aliases and deep nesting are refused.

    Raises:
        error: with the file and line of what is wrong.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(_shallow(text, origin, error))
    try:
        node = loader.get_single_node()
        if node is None:
            return {}
        _check(node, set(), 0)
        data = loader.construct_document(node)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = first_line + (mark.line if mark else 0)
        raise error(f"{origin}, line {line}: not valid YAML: {problem.problem or problem}.") from problem
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise error(f"{origin}: not valid YAML: {problem}.") from problem
    finally:
        loader.dispose()
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise error(f"{origin}, line {first_line}: expected a mapping of names to values.")
    return data


def _shallow(text: str, origin: str, error: type[AgentEvoError]) -> str:
    """Refuse nesting that would exhaust the reader's stack before it can complain."""
    if _NESTED.search(text):
        raise error(f"{origin}: YAML is nested deeper than {_MAX_NESTING} levels; flatten it.")
    return text


def _check(node: yaml.Node, seen: set[int], depth: int) -> None:
    """Refuse what YAML readers disagree about or what grows when it is read."""
    if id(node) in seen:
        raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=node.start_mark)
    if depth > _MAX_NESTING:
        raise yaml.MarkedYAMLError(problem=f"deeper than {_MAX_NESTING} levels", problem_mark=node.start_mark)
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check(item, seen, depth + 1)
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in names:
                raise yaml.MarkedYAMLError(problem=f"{name!r} is given twice", problem_mark=key.start_mark)
            names.add(name)
            _check(value, seen, depth + 1)
