"""The limits of an edit of prose: where it may stand, how much it may add and take out, what it may hold.

The same for a line of advice and for an analyst's words. Whether the words are wise is for a person.
"""

import difflib
from collections.abc import Iterator
from typing import Final

from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.document import check_body
from agent_evo_dagster.patches.fences import split_lines
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.patches.powers import deciding, powers_of
from agent_evo_dagster.patches.settings_block import read_settings
from agent_evo_dagster.patches.types import Action

MAX_SECTION: Final = 6000  # characters that a section may grow to
MAX_ADDED: Final = 1500  # characters that one patch may add
MAX_REMOVED: Final = 3  # lines of a section that a replacement may take out or change


def misfit(base: str, body: str, action: Action, said: str, place: str) -> str | None:
    """Why `body` cannot stand in the section `base`, called `place`; `said` describes the patch."""
    return next(_misfits(base, body, action, said, place), None)


def _misfits(base: str, body: str, action: Action, said: str, place: str) -> Iterator[str]:
    if read_settings(base, origin=place):
        yield f"{place} holds settings; advice has no place among them"
    try:
        check_body(body, origin=place)
        if read_settings(body, origin=place):
            yield f"{place} holds no settings; a patch brings none in"
    except PatchError as error:
        yield str(error)
    if body.strip() in base:
        yield f"{place} says so already"
    added = len(body) - (len(base) if action == "replace" else 0)
    if len(base) + added > MAX_SECTION and added > 0:
        yield f"{place} would grow beyond {MAX_SECTION} characters"
    if added > MAX_ADDED:
        yield f"{added} characters for {place} are more than the {MAX_ADDED} that one patch may add"
    removed = _removed(base, body) if action == "replace" else 0
    if removed > MAX_REMOVED:
        yield f"{removed} lines of {place} would go; one patch may take out or change {MAX_REMOVED}"
    if powers_of(body) - powers_of(base) or powers_of(said) or first_hidden(body + said):
        yield "what the sessions said would bring in a link, a command or a hidden character"
    if deciding(body) - deciding(base) or deciding(said):
        yield "it would bring in a command that decides on patches; those are for people to type"


def _removed(base: str, body: str) -> int:
    """Lines of `base` that `body` no longer has in their order."""
    matcher = difflib.SequenceMatcher(a=split_lines(base), b=split_lines(body), autojunk=False)
    gone = ("replace", "delete")
    return sum(stop - start for tag, start, stop, _, _ in matcher.get_opcodes() if tag in gone)
