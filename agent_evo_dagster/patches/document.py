"""Patch documents: markdown with front matter, read strictly, written canonically. No application."""

import hashlib
import json
import re
from datetime import UTC
from typing import get_args

from pydantic import ValidationError

from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.fences import marker_of, open_fence, open_html, scan
from agent_evo_dagster.patches.front_matter import quoted, quoted_list, split_front_matter
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.patches.types import (
    HASH_PATTERN,
    NAME_PATTERN,
    PATCH_ID_PATTERN,
    Action,
    Patch,
    PatchHead,
    PatchStatus,
)
from agent_evo_dagster.strict_yaml import load_mapping

MAX_PATCH_BYTES = 64 * 1024
_ID = re.compile(PATCH_ID_PATTERN)
_HASH = re.compile(HASH_PATTERN)
_NAME = re.compile(NAME_PATTERN)
# A quoted scalar on which JSON and every YAML agree, and a flow sequence of them.
_TEXT = (
    r'"(?:[\x20!#-\[\]-~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]'
    r'|\\["\\bfnrt]|\\u(?!d[89a-f])[0-9a-f]{4})*"'
)
_LIST = rf"\[(?:{_TEXT}(?:, {_TEXT})*)?\]"
_CANONICAL = re.compile(
    rf"id: (?P<id>{PATCH_ID_PATTERN})\n"
    + "".join(rf"{name}: (?P<{name}>{_TEXT})\n" for name in ("group", "skill", "target_section"))
    + rf"action: (?P<action>{'|'.join(get_args(Action))})\n"
    + "".join(rf"{name}: (?P<{name}>{_TEXT})\n" for name in ("description", "base_hash"))
    + rf"source:\n  round: (?P<round>null|{_TEXT})\n  findings: (?P<findings>{_LIST})\n"
    + "".join(rf"{name}: (?P<{name}>{_LIST})\n" for name in ("depends_on", "conflicts_with", "supersedes"))
    + rf"status: (?P<status>{'|'.join(PatchStatus)})\ncreated: (?P<created>{_TEXT})\n"
)
_PLAIN = ("id", "action", "status")


def section_hash(text: str) -> str:
    """Hex SHA-256 of a section's text: the `base_hash` of a patch made against it."""
    return hashlib.sha256(text.encode()).hexdigest()


def patch_id(*, skill: str, section: str, action: Action, base_hash: str, body: str) -> str:
    """The id that binds a patch to what it does: any change of these is another patch."""
    parts = "\0".join((skill, section, action, base_hash, body))
    return f"p-{hashlib.sha256(parts.encode()).hexdigest()[:16]}"


def idea_of(patch: Patch) -> str:
    """Hex SHA-256 of where and what a patch says, without the text that it was made against."""
    words = " ".join(patch.body.split()).casefold()
    parts = "\0".join((patch.skill, patch.target_section, patch.action, words))
    return hashlib.sha256(parts.encode()).hexdigest()


def render_patch(patch: Patch) -> str:
    """The canonical document of `patch`: fixed key order, quoted scalars, the body verbatim.

    Raises:
        PatchError: the creation time has no time zone.
    """
    if patch.created.tzinfo is None:
        raise PatchError(f"patch {patch.id}: `created` has no time zone; give it in UTC.")
    created = patch.created.astimezone(UTC).isoformat().replace("+00:00", "Z")
    head = (
        f"id: {patch.id}",
        f"group: {quoted(patch.group)}",
        f"skill: {quoted(patch.skill)}",
        f"target_section: {quoted(patch.target_section)}",
        f"action: {patch.action}",
        f"description: {quoted(patch.description)}",
        f"base_hash: {quoted(patch.base_hash)}",
        "source:",
        f"  round: {'null' if patch.source_round is None else quoted(patch.source_round)}",
        f"  findings: {quoted_list(patch.findings)}",
        f"depends_on: {quoted_list(patch.depends_on)}",
        f"conflicts_with: {quoted_list(patch.conflicts_with)}",
        f"supersedes: {quoted_list(patch.supersedes)}",
        f"status: {patch.status.value}",
        f"created: {quoted(created)}",
    )
    return "---\n" + "\n".join(head) + "\n---\n" + patch.body


def parse_patch(text: str, *, origin: str) -> Patch:
    """Read one patch document; `origin` names it in errors.

    Raises:
        PatchError: not well formed, hostile, or the id does not match what the patch does.
    """
    if len(text.encode(errors="surrogatepass")) > MAX_PATCH_BYTES:
        raise PatchError(f"{origin}: larger than {MAX_PATCH_BYTES} bytes; a patch is one small edit.")
    hidden = first_hidden(text)
    if hidden is not None:
        raise PatchError(f"{origin}, {hidden}: a hidden character; a patch must show all that it says.")
    cut = split_front_matter(text)
    if cut is None:
        raise PatchError(
            f"{origin}, line 1: no front matter; begin with a line `---` and close it with another."
        )
    fields = canonical_fields(cut.yaml)
    if fields is None:
        fields = load_mapping(cut.yaml, origin=origin, error=PatchError, first_line=2)
    patch = _from_fields(fields, cut.body, origin)
    check_body(cut.body, origin=f"{origin} (patch {patch.id})")
    _check_names(patch, origin)
    return patch


def canonical_fields(text: str) -> dict[str, object] | None:
    """The front matter as `render_patch` writes it, read without YAML; None for any other."""
    found = _CANONICAL.fullmatch(text)
    if found is None:
        return None
    fields = {
        name: value if name in _PLAIN else json.loads(value) for name, value in found.groupdict().items()
    }
    source = {name: fields.pop(name) for name in ("round", "findings")}
    return {**fields, "source": source}


def _from_fields(fields: dict[str, object], body: str, origin: str) -> Patch:
    """The typed patch of front matter and body."""
    try:
        head = PatchHead.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        raise PatchError(
            f"{origin}: patch {fields.get('id')!r}, field `{name}`: {first['msg']}; found {first['input']!r}."
        ) from error
    if head.created.tzinfo is None:
        raise PatchError(
            f"{origin}: patch {head.id}: `created` has no time zone; write it in UTC, ending in Z."
        )
    values = {name: getattr(head, name) for name in PatchHead.model_fields if name != "source"}
    # Every value was checked as the head's field of the same type.
    return Patch.model_construct(
        **values, source_round=head.source.round, findings=head.source.findings, body=body
    )


def _check_names(patch: Patch, origin: str) -> None:
    """Names that become paths or address sections are checked; the id must be the one of the content."""
    for field, value in (
        ("group", patch.group),
        ("skill", patch.skill),
        ("target_section", patch.target_section),
    ):
        if not _NAME.fullmatch(value) or len(value) > 64:
            raise PatchError(
                f"{origin}: `{field}` is {value!r}; use lower-case words joined by hyphens, at most 64."
            )
    if not _HASH.fullmatch(patch.base_hash):
        raise PatchError(f"{origin}: `base_hash` must be 64 hex digits: the SHA-256 of the section patched.")
    for other in (*patch.depends_on, *patch.conflicts_with, *patch.supersedes):
        if not _ID.fullmatch(other) or other == patch.id:
            raise PatchError(
                f"{origin}: patch {patch.id} names {other!r}, which cannot be another patch's id."
            )
    expected = patch_id(
        skill=patch.skill,
        section=patch.target_section,
        action=patch.action,
        base_hash=patch.base_hash,
        body=patch.body,
    )
    if patch.id != expected:
        raise PatchError(
            f"{origin}: the id is {patch.id!r}, but the content is {expected}: it was edited since. "
            "Undo the edit, or propose it as a new patch with that id."
        )


def check_body(body: str, *, origin: str) -> None:
    """Refuse a body that says nothing or that could break out of its section.

    Raises:
        PatchError: blank, with a section marker outside code, or with a fence or HTML left open.
    """
    if not body.strip():
        raise PatchError(f"{origin}: the body is empty; write the text to put in place.")
    for line in scan(body):
        if marker_of(line) is not None:
            raise PatchError(
                f"{origin}, body line {line.number}: a section marker; a patch edits one section."
            )
    opened = open_fence(body)
    if opened is not None:
        raise PatchError(f"{origin}, body line {opened}: this code fence is never closed.")
    hiding = open_html(body)
    if hiding is not None:
        raise PatchError(
            f"{origin}, body line {hiding}: this HTML is never closed, and would hide what follows. Close it."
        )
