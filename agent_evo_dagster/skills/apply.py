"""The application of patches to sections, in their order. Which patches may apply is decided in rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_evo_dagster.errors import ChangedSectionError, SkillBankError
from agent_evo_dagster.patches.application import fitted_body, joined, patched_section
from agent_evo_dagster.patches.document import section_hash
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.sections import Free, Section, SkillDocument


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
        return out if self._ends_in_newline() else out.removesuffix("\n").removesuffix("\r")

    def _ends_in_newline(self) -> bool:
        """Whether the text has a newline at its end: a base that ends in a bare marker asks for none."""
        last = self.document.pieces[-1] if self.document.pieces else None
        return not isinstance(last, Section) or last.closing.endswith("\n")


def apply_patches(document: SkillDocument, patches: Sequence[Patch], *, origin: str) -> Patched:
    """Apply `patches` one after another, each against the section as it stands by then.

    Raises:
        ChangedSectionError: a patch was made against another text than the one it meets.
    """
    sections = {section.name: section.text for section in document.sections()}
    inserted: dict[str, tuple[str, ...]] = {}
    before: dict[str, list[Patch]] = {}
    for patch in patches:
        name = patch.target_section
        _check_base(patch, sections[name], before.setdefault(name, []), origin)
        if patch.action == "insert_after":
            inserted[name] = (*inserted.get(name, ()), fitted_body(sections[name], patch))
        sections[name] = patched_section(sections[name], patch)
        before[name].append(patch)
    return Patched(document, sections, inserted)


def _check_base(patch: Patch, text: str, before: Sequence[Patch], origin: str) -> None:
    """A patch meets the text it was made against, or stands in for the one that changed it."""
    found = section_hash(text)
    if found == patch.base_hash:
        return
    what = f"patch {patch.id} (section {patch.target_section!r} of {origin})"
    for other in before:
        if patch.action == other.action == "replace" and other.base_hash == patch.base_hash:
            if other is before[-1] and other.id in patch.supersedes:
                return
            raise SkillBankError(
                f"{what} and patch {other.id} both replace that section, made against the same text. "
                f"List one under `disabled` in manifest.yaml, or put the later one right after the other "
                f"and let it say `supersedes: [{other.id}]`."
            )
    raise ChangedSectionError(
        f"{what} was made against another text: its base hash is {patch.base_hash[:12]}, that of the "
        f"section as compiled before it {found[:12]}. Propose the patch again for the text as it is now, or "
        f"list it under `disabled` in manifest.yaml."
    )
