"""Patch files of older banks: read leniently, and turned into patches of today. Strict reading: document.

Older patches could carry section markers, which had no meaning within the section patched: they are left out.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.document import check_body, patch_id, section_hash
from agent_evo_dagster.patches.fences import marker_of, scan
from agent_evo_dagster.patches.front_matter import split_front_matter
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.patches.types import Action, Patch, PatchStatus
from agent_evo_dagster.strict_yaml import load_mapping


class LegacyPatch(BaseModel):
    """One patch file without a base hash; fields that say nothing today are dropped."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    target_section: str
    action: Action
    description: str
    status: PatchStatus = PatchStatus.PROPOSED
    depends_on: tuple[str, ...] = ()
    conflicts_with: tuple[str, ...] = ()
    body: str = Field(min_length=1)

    def against(self, base: str, *, group: str, skill: str, created: datetime) -> Patch:
        """The patch of today that does the same to the section text `base`; without its relations."""
        digest = section_hash(base)
        name = patch_id(
            skill=skill, section=self.target_section, action=self.action, base_hash=digest, body=self.body
        )
        return Patch(
            id=name,
            group=group,
            skill=skill,
            target_section=self.target_section,
            action=self.action,
            description=self.description[:500],
            base_hash=digest,
            status=self.status,
            created=created,
            body=self.body,
        )


@dataclass(frozen=True)
class LegacyPatches:
    """What a folder of patch files gave."""

    loaded: tuple[LegacyPatch, ...]
    problems: tuple[str, ...]  # one message a file that cannot be read, with file and line


def parse_legacy_patch(text: str, *, origin: str) -> LegacyPatch:
    """Read one older patch file.

    Raises:
        PatchError: with file and line of what is wrong.
    """
    hidden = first_hidden(text)
    if hidden is not None:
        raise PatchError(f"{origin}, {hidden}: a hidden character; remove it.")
    cut = split_front_matter(text)
    if cut is None:
        raise PatchError(f"{origin}, line 1: no front matter.")
    body = "".join(line.text for line in scan(cut.body) if marker_of(line) is None)
    fields = load_mapping(cut.yaml, origin=origin, error=PatchError, first_line=2)
    try:
        patch = LegacyPatch.model_validate({**fields, "body": body})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise PatchError(f"{origin}: field `{where}`: {first['msg']}; found {first['input']!r}.") from error
    check_body(body, origin=origin)
    return patch


def read_legacy_patches(folder: Path) -> LegacyPatches:
    """Read every `*.md` of `folder`, in name order; a broken one is reported and keeps no other out."""
    loaded, problems = [], []
    for path in sorted(folder.glob("*.md")):
        try:
            loaded.append(parse_legacy_patch(path.read_bytes().decode(), origin=str(path)))
        except (PatchError, UnicodeDecodeError) as error:
            problems.append(str(error) if isinstance(error, PatchError) else f"{path}: not UTF-8: {error}")
    return LegacyPatches(tuple(loaded), tuple(problems))
