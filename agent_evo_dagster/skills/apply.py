"""The application of patches to sections, in their order. Which patches may apply is decided in rules."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_evo_dagster.errors import ChangedSectionError
from agent_evo_dagster.patches.document import section_hash
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.sections import Free, SkillDocument

_ENDS_BLANK = re.compile(r"(?:\n|\A)[ \t]*\r?\n\Z")
_STARTS_BLANK = re.compile(r"[ \t]*\r?\n")


@dataclass(frozen=True)
class Patched:
    """A document after its patches: section texts by name, and what was inserted after each."""

    document: SkillDocument
    sections: dict[str, str]
    inserted: dict[str, tuple[str, ...]]

    def body(self) -> str:
        """The text below the front matter, without section markers."""
        out, seam = "", False
        for piece in self.document.pieces:
            text = piece.text if isinstance(piece, Free) else self.sections[piece.name]
            out = joined(out, text) if seam else out + text
            chunks = () if isinstance(piece, Free) else self.inserted.get(piece.name, ())
            for chunk in chunks:
                out = joined(out, chunk)
            seam = bool(chunks)
        return out


def apply_patches(document: SkillDocument, patches: Sequence[Patch], *, origin: str) -> Patched:
    """Apply `patches` one after another, each against the section as it stands by then.

    Raises:
        ChangedSectionError: a patch was made against another text than the one it meets.
    """
    sections = {section.name: section.text for section in document.sections()}
    inserted: dict[str, tuple[str, ...]] = {}
    for patch in patches:
        name, text = patch.target_section, sections[patch.target_section]
        found = section_hash(text)
        if found != patch.base_hash:
            raise ChangedSectionError(
                f"patch {patch.id} was made against another text of section {name!r} in {origin}: "
                f"it expects {patch.base_hash[:12]}, the section as compiled before it is {found[:12]}. "
                f"Propose the patch again for the text as it is now, or list the patch under `disabled` "
                f"in manifest.yaml."
            )
        body = ended(_fitted(patch.body, text))
        if patch.action == "replace":
            sections[name] = body
        elif patch.action == "append":
            sections[name] = joined(text, body)
        elif patch.action == "prepend":
            sections[name] = joined(body, text)
        else:
            inserted[name] = (*inserted.get(name, ()), body)
    return Patched(document, sections, inserted)


def joined(first: str, second: str) -> str:
    """Both texts with a blank line between them, unless one already brings it."""
    if not first.strip():
        return first + second
    first = ended(first)
    if not second or _ENDS_BLANK.search(first) or _STARTS_BLANK.match(second):
        return first + second
    return first + ("\r\n" if first.endswith("\r\n") else "\n") + second


def ended(text: str) -> str:
    """`text` with a line end, so that what follows begins a line."""
    if not text or text.endswith("\n"):
        return text
    return text + ("\r\n" if "\r\n" in text else "\n")


def _fitted(body: str, section: str) -> str:
    """A body with LF alone takes the line ends of a section that has CRLF throughout."""
    if "\r\n" in body or not section.count("\n") or section.count("\r\n") != section.count("\n"):
        return body
    return body.replace("\n", "\r\n")
