"""The text of a settings file with our hook put in and taken out; every other byte stays. Not where it lies.

JSON is edited where it stands in the text, so that the indentation, the order, the line breaks and the lists
on one line that others chose are still there.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from agent_evo_dagster.capture.claude_settings import KINDS, Json, entries_of, hooks_of, is_own, wanted_group

Path = tuple[str | int, ...]  # names and places that lead to a value

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_INDENT: Final = re.compile(r'\n([ \t]+)"')
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Item:
    """One member of an object or list."""

    key: str | int
    start: int  # of its name, where it has one
    value: int  # of its value
    end: int


@dataclass(frozen=True, slots=True)
class _Container:
    """An object or list; `start` is at its bracket, `end` after the closing one."""

    start: int
    items: tuple[_Item, ...]
    end: int


def with_hook(text: str, command: str) -> str:
    """`text` with our hook at every kind of event, after those of others; as it is where it is right.

    `text` is JSON that `claude_settings.load` accepts, or nothing.
    """
    text = text if text.strip() else "{}\n"
    group = wanted_group(command)
    for kind in KINDS:
        held = hooks_of(json.loads(text)).get(kind, [])
        if [one for one in held if any(map(is_own, entries_of(one)))] != [group]:
            text = without_hook(text, kinds=(kind,), keep=("hooks", kind))
            text = _added(text, kind, group)
    return text


def without_hook(text: str, *, kinds: Collection[str] = (), keep: Collection[str] = ()) -> str:
    """`text` without our hook, at all kinds or at some, and without the groups and lists that held only it.

    `keep` names the lists that stay though they are empty then, and "hooks" for the object of all lists.
    """
    while (found := next(_own_places(text, kinds), None)) is not None:
        text = _removed(text, _emptied(text, found, keep))
    return text


def _own_places(text: str, kinds: Collection[str]) -> Iterator[Path]:
    for kind, groups in hooks_of(json.loads(text)).items():
        for number, group in enumerate(groups):
            for place, entry in enumerate(entries_of(group)):
                if is_own(entry) and (not kinds or kind in kinds):
                    yield ("hooks", kind, number, "hooks", place)


def _emptied(text: str, entry: Path, keep: Collection[str]) -> Path:
    """The largest thing that holds nothing but one of our entries."""
    group, kind, hooks = entry[:3], entry[:2], entry[:1]
    if len(_container(text, entry[:4]).items) > 1:
        return entry
    if len(_container(text, kind).items) > 1 or entry[1] in keep:
        return group
    return kind if len(_container(text, hooks).items) > 1 or "hooks" in keep else hooks


def _added(text: str, kind: str, group: Json) -> str:
    settings = json.loads(text)
    if "hooks" not in settings:
        return _inserted(text, (), "hooks", {kind: [group]})
    if kind not in hooks_of(settings):
        return _inserted(text, ("hooks",), kind, [group])
    return _inserted(text, ("hooks", kind), None, group)


def _inserted(text: str, holder: Path, name: str | None, value: Json) -> str:
    """`text` with one more item at the end of a container, laid out as the rest is."""
    into = _container(text, holder)
    found = _INDENT.search(text)
    unit = found[1] if found else "  "
    in_lines = "\n" in text.strip() or not json.loads(text)
    outer = ("\r\n" if "\r\n" in text else "\n") + unit * len(holder) if in_lines else ""
    inner = outer + unit if in_lines else ""
    made = json.dumps(value, indent=unit if in_lines else None, ensure_ascii=False).replace("\n", inner)
    made = made if name is None else f"{json.dumps(name)}: {made}"
    if into.items:
        at = into.items[-1].end
        return f"{text[:at]},{inner or ' '}{made}{text[at:]}"
    return f"{text[: into.start + 1]}{inner}{made}{outer}{text[into.end - 1 :]}"


def _removed(text: str, target: Path) -> str:
    """`text` without one item and the comma that parted it from its neighbour."""
    held = _container(text, target[:-1])
    place = next(number for number, item in enumerate(held.items) if item.key == target[-1])
    item = held.items[place]
    if place:
        start, end = held.items[place - 1].end, item.end
    elif len(held.items) > 1:
        start, end = item.start, held.items[1].start
    else:
        start, end = held.start + 1, held.end - 1
    return text[:start] + text[end:]


def _container(text: str, path: Path) -> _Container:
    """The object or list that a path leads to."""
    found = _read(text, _skip(text, 0))
    for key in path:
        found = _read(text, next(item.value for item in found.items if item.key == key))
    return found


def _read(text: str, start: int) -> _Container:
    """The object or list whose bracket is at `start`."""
    is_object = text[start] == "{"
    items: list[_Item] = []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        begin, key = at, len(items)
        name: str | int = key
        if is_object:
            name, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # over the colon
        _, end = _DECODER.raw_decode(text, at)
        items.append(_Item(name, begin, at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return _Container(start, tuple(items), at + 1)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
