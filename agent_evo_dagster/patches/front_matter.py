"""Front matter: found, and written as quoted scalars. What its YAML says is read by strict_yaml."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?P<yaml>(?:.*\n)*?)---[ \t]*(?:\r?\n|\Z)")
_ESCAPED = re.compile(
    r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]"
)


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
