"""Small YAML and JSON files that people write, read strictly: one mapping, nothing twice, no aliases."""

import re
from pathlib import Path

import yaml

from agent_evo_dagster.errors import AgentEvoError

LARGEST = 1 << 20  # bytes
_MAX_NESTING = 40
_NESTED = re.compile(r"(?:[\[{][ \t\r\n]*){40}|(?:[-?:] +){40}")


def read_mapping(path: Path, *, error: type[AgentEvoError], origin: str | None = None) -> dict[str, object]:
    """What a file says by name.

    Args:
        path: a regular file; pipes and devices are refused unread.
        error: the class of what is raised.
        origin: what errors call the file; its path where absent.

    Raises:
        error: it cannot be read, is too large, or is no mapping that is written strictly.
    """
    called = origin or str(path)
    try:
        if path.exists() and not path.is_file():
            raise error(f"{called} is no regular file.")
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as problem:
        raise error(f"{called} cannot be read ({problem.strerror}).") from problem
    if len(data) > LARGEST:
        raise error(f"{called} has more than {LARGEST:,} bytes.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise error(f"{called} is not UTF-8; save it as UTF-8.") from problem
    return load_mapping(text, origin=called, error=error)


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
    except (yaml.YAMLError, ValueError, RecursionError, AttributeError, OverflowError) as problem:
        # the last two are PyYAML's own, of a date or a number that is none
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
