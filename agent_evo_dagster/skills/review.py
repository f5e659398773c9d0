"""What a reviewer must not miss between two texts of a skill: powers, fields of the head, hidden signs."""

from collections.abc import Iterator

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.front_matter import split_front_matter
from agent_evo_dagster.patches.hidden import first_hidden, visible
from agent_evo_dagster.patches.powers import powers_of
from agent_evo_dagster.skills.agent_skill import head_fields

_WORDS = {"links": "link", "commands": "command", "run_on_load": "code that runs on loading"}


def notable(before: str, after: str) -> list[str]:
    """What `after` has that `before` had not, or the other way round, one line each; fit for a terminal."""
    return [
        visible(line) for line in (*_hidden(before, after), *_fields(before, after), *_powers(before, after))
    ]


def _hidden(before: str, after: str) -> Iterator[str]:
    for what, text in (("before", before), ("after", after)):
        found = first_hidden(text)
        if found is not None:
            yield f"hidden character {what}: {found}"


def _fields(before: str, after: str) -> Iterator[str]:
    """Changed fields of the front matter: `allowed-tools`, `hooks` and the like are what an agent may do."""
    old, new = _head(before), _head(after)
    if old is None or new is None:
        if before and old is None:
            yield "front matter before: cannot be read"
        old, new = old or {}, new or {}
    for name in sorted({*old, *new} - {"name", "description"}):
        if old.get(name) != new.get(name):
            yield f"`{name}` changed: {old.get(name, 'not set')!r} -> {new.get(name, 'not set')!r}"


def _powers(before: str, after: str) -> Iterator[str]:
    old, new = powers_of(before), powers_of(after)
    for verb, found in (("new", new - old), ("removed", old - new)):
        for power in sorted(found):
            yield f"{verb} {_WORDS[power.kind]}: {power.text}"


def _head(text: str) -> dict[str, object] | None:
    """The fields of a front matter; None where there is none that can be read."""
    cut = split_front_matter(text)
    if cut is None:
        return None
    try:
        return head_fields(cut.head, "the file")
    except SkillBankError:
        return None
