"""What an analyst's model must answer. No prompts."""

from typing import Annotated, Final, Literal

from pydantic import Field

from agent_evo_dagster.analysts.forms import Form, StrictAnswer
from agent_evo_dagster.analysts.types import Observation
from agent_evo_dagster.patches.drafts import Draft, ProseDraft, SettingDraft
from agent_evo_dagster.patches.hidden import visible

MAX_PATCHES = 4
MAX_FINDINGS = 20

_Id = Annotated[str, Field(max_length=40)]
_Name = Annotated[str, Field(max_length=64)]
_Findings = Annotated[list[_Id], Field(max_length=20, description="Ids of the findings it rests on.")]
_Why = Annotated[str, Field(min_length=1, max_length=300, description="One sentence, plain words.")]


class SettingEdit(StrictAnswer):
    """Another default for a setting that a section's settings block has, within its bounds."""

    kind: Literal["setting"]
    findings: _Findings
    skill: _Name
    setting: _Name
    value: float = Field(allow_inf_nan=False)
    why: _Why


class ProseEdit(StrictAnswer):
    """Words for a section without settings: added, or the section with few lines changed."""

    kind: Literal["prose"]
    findings: _Findings
    skill: _Name
    section: _Name
    action: Literal["append", "prepend", "replace"]
    text: str = Field(max_length=8000)
    why: _Why


class Seen(StrictAnswer):
    """Trouble that the findings show together."""

    summary: str = Field(min_length=1, max_length=400)
    findings: _Findings
    skill: _Name | None
    section: _Name | None
    confidence: float = Field(ge=0, le=1)


class Answer(StrictAnswer):
    """The whole answer; patches in the order of their weight, none where nothing is worth a change."""

    findings: list[Seen] = Field(max_length=MAX_FINDINGS)
    patches: list[SettingEdit | ProseEdit] = Field(max_length=MAX_PATCHES)

    def drafts(self) -> tuple[Draft, ...]:
        """The patches as drafts."""
        return tuple(_draft(patch) for patch in self.patches)

    def observations(self) -> tuple[Observation, ...]:
        """The findings, with hidden characters made visible."""
        return tuple(
            Observation(
                visible(one.summary),
                tuple(map(visible, one.findings)),
                one.skill and visible(one.skill),
                one.section and visible(one.section),
                one.confidence,
            )
            for one in self.findings
        )


def _draft(patch: SettingEdit | ProseEdit) -> Draft:
    findings = tuple(dict.fromkeys(patch.findings))
    if isinstance(patch, SettingEdit):
        return SettingDraft(findings, patch.skill, patch.setting, patch.value, patch.why)
    return ProseDraft(findings, patch.skill, patch.section, patch.action, patch.text, patch.why)


ANSWER: Final = Form("analysis", Answer)
