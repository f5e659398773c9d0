"""Patches made of patches: two of one section in one, or one for the section as it is now. Nothing is stored.

Lines are merged three-way. Two things are known of patches that lines do not show: defaults of different
settings never touch, and what is added at an end of the section is added there whatever else it says.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from agent_evo_dagster.errors import MergeConflictError, PatchError
from agent_evo_dagster.patches.application import joined
from agent_evo_dagster.patches.change import SettingsChange, patched_text, settings_change
from agent_evo_dagster.patches.document import parse_patch, patch_id, render_patch, section_hash
from agent_evo_dagster.patches.merging import Clash, clashes, merged
from agent_evo_dagster.patches.settings_block import read_settings, with_default
from agent_evo_dagster.patches.types import Action, Patch

_DESCRIPTION = 500  # characters that a patch's description may have


@dataclass(frozen=True, slots=True)
class Side:
    """A patch and the section's text that it was made against."""

    patch: Patch
    base: str

    @property
    def text(self) -> str:
        """The section with the patch alone."""
        return patched_text(self.base, self.patch)

    @property
    def settings(self) -> SettingsChange | None:
        """The defaults that it changes, where it changes nothing else."""
        return settings_change(self.base, self.patch)


@dataclass(frozen=True, slots=True)
class _Edit:
    """What a patch does to the section as it is now."""

    action: Action
    body: str


def merged_patch(current: str, one: Side, other: Side, *, at: datetime) -> Patch:
    """One patch that does to `current` what both do; which is named first makes no difference.

    Raises:
        MergeConflictError: they, or the section since, changed the same lines; both sides are shown.
        PatchError: they do the same, exclude each other, or are of different sections.
    """
    first, second = sorted((one, other), key=lambda side: side.patch.id)
    _mergeable(first.patch, second.patch)
    edit = _both(current, first, second)
    ids = (first.patch.id, second.patch.id)
    said = f"{' and '.join(ids)} in one: {first.patch.description}; {second.patch.description}"
    return _made(current, edit, (first.patch, second.patch), said, at)


def rebased_patch(current: str, side: Side, *, at: datetime) -> Patch:
    """The patch that does to `current` what `side` did to the text that it was made against.

    Raises:
        MergeConflictError: the section was changed in the same lines since; both sides are shown.
        PatchError: the section says so already.
    """
    return _made(current, _onto(current, side), (side.patch,), side.patch.description, at)


def _mergeable(first: Patch, second: Patch) -> None:
    pair = f"{first.id} and {second.id}"
    if first.id == second.id:
        raise PatchError(f"Two patches were expected, and {first.id} was named twice.")
    if (first.skill, first.target_section) != (second.skill, second.target_section):
        raise PatchError(
            f"{pair} edit different sections, {first.skill}#{first.target_section} and "
            f"{second.skill}#{second.target_section}: both can be approved as they are."
        )
    if first.id in second.conflicts_with or second.id in first.conflicts_with:
        raise PatchError(f"One of {pair} says that it conflicts with the other: reject or withdraw one.")
    if first.action != second.action and "insert_after" in (first.action, second.action):
        after, other = (first, second) if first.action == "insert_after" else (second, first)
        raise PatchError(
            f"{after.id} stands after the section that {other.id} edits: there is nothing to merge. Adopt "
            f"{other.id} first; then: agent-evo patches rebase {after.id} --by NAME"
        )


def _both(current: str, first: Side, second: Side) -> _Edit:
    """What both do."""
    changes = [change for side in (first, second) if (change := side.settings) is not None]
    text = _with_settings(current, *changes) if len(changes) == 2 else None
    if text is not None:
        return _Edit("replace", text)
    edits = (_onto(current, first), _onto(current, second))
    if edits[0].action == edits[1].action != "replace":
        return _Edit(edits[0].action, joined(edits[0].body, edits[1].body))
    texts = (_text(current, edit, side) for edit, side in zip(edits, (first, second), strict=True))
    return _Edit("replace", _three_way(current, *texts, names=(first.patch.id, second.patch.id)))


def _onto(current: str, side: Side) -> _Edit:
    """What a patch does to the section as it is now."""
    if side.patch.action != "replace" or current == side.base:
        return _Edit(side.patch.action, side.patch.body)
    change = side.settings
    text = None if change is None else _with_settings(current, change)
    if text is None:
        names = ("the section as it is now", side.patch.id)
        text = _three_way(side.base, current, side.text, names=names)
    return _Edit("replace", text)


def _text(current: str, edit: _Edit, side: Side) -> str:
    """The section as it is now, with an edit of it."""
    return patched_text(current, _of(current, edit, side.patch))


def _with_settings(current: str, *changes: SettingsChange) -> str | None:
    """`current` with the defaults of all; None where one of them is another by now, or two differ."""
    held = {spec.name: spec.default for spec in read_settings(current, origin="section")}
    wanted: SettingsChange = {}
    for change in changes:
        for name, pair in change.items():
            if wanted.setdefault(name, pair) != pair or held.get(name) not in pair:
                return None
    for name, (_, value) in sorted(wanted.items()):
        current = with_default(current, name, value)
    return current


def _three_way(base: str, first: str, second: str, *, names: tuple[str, str]) -> str:
    """Both edits of `base`.

    Raises:
        MergeConflictError: they touch.
    """
    text = merged(base, first, second)
    if text is None:
        shown = "\n".join(_shown(clash, names) for clash in clashes(base, first, second))
        raise MergeConflictError(
            f"{names[0]} and {names[1]} change the same lines, or lines side by side. Nothing was made: a "
            f"person must say which holds.\n{shown}"
        )
    return text


def _shown(clash: Clash, names: tuple[str, str]) -> str:
    """Both sides of a clash, under the lines as they were."""
    sides = ((f"line {clash.line}, as it was", clash.base), (names[0], clash.first), (names[1], clash.second))
    return "\n".join(f"  {name}:\n{_quoted(lines)}" for name, lines in sides)


def _quoted(lines: Iterable[str]) -> str:
    return "\n".join(f"    | {line.rstrip()}" for line in lines) or "    (no line)"


def _made(current: str, edit: _Edit, sources: tuple[Patch, ...], said: str, at: datetime) -> Patch:
    """The patch of an edit, which stands for `sources`."""
    ids = [patch.id for patch in sources]
    patch = _of(current, edit, sources[0]).model_copy(
        update={
            "description": said[:_DESCRIPTION],
            "source_round": None,
            "findings": tuple(dict.fromkeys(name for source in sources for name in source.findings)),
            "depends_on": _others(sources, "depends_on", ids),
            "conflicts_with": _others(sources, "conflicts_with", ids),
            "supersedes": tuple(sorted({*ids, *(name for one in sources for name in one.supersedes)})),
            "created": at,
        }
    )
    if patch.id in ids or (patch.action == "replace" and patched_text(current, patch) == current):
        raise PatchError(
            f"Nothing is left to make of {' and '.join(ids)}: the section, or one of them, says so already."
        )
    return parse_patch(render_patch(patch), origin=f"the patch made of {' and '.join(ids)}")


def _of(current: str, edit: _Edit, like: Patch) -> Patch:
    """`like` with another edit, made against `current`."""
    digest = section_hash(current)
    name = patch_id(
        skill=like.skill,
        section=like.target_section,
        action=edit.action,
        base_hash=digest,
        body=edit.body,
    )
    update = {"id": name, "action": edit.action, "base_hash": digest, "body": edit.body}
    return like.model_copy(update=update)


def _others(sources: tuple[Patch, ...], field: str, ids: list[str]) -> tuple[str, ...]:
    """The patches that any of `sources` names in `field`, besides themselves."""
    return tuple(sorted({name for one in sources for name in getattr(one, field)} - set(ids)))
