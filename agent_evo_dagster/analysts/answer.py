"""What a model must answer: the form, its JSON schema, and an answer read against it. No prompts."""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.analysts.types import Observation
from agent_evo_dagster.patches.drafts import Draft, ProseDraft, SettingDraft
from agent_evo_dagster.patches.hidden import visible

MAX_PATCHES = 4
MAX_FINDINGS = 20
MAX_ANSWER = 200_000  # characters that are read
_PROBLEMS = 6
# What services that compile a schema into a grammar refuse; the bounds are checked here instead.
_UNSUPPORTED = ("maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum", "title", "default")

_Id = Annotated[str, Field(max_length=40)]
_Name = Annotated[str, Field(max_length=64)]
_Findings = Annotated[list[_Id], Field(max_length=20, description="Ids of the findings it rests on.")]
_Why = Annotated[str, Field(min_length=1, max_length=300, description="One sentence, plain words.")]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SettingEdit(_Strict):
    """Another default for a setting that a section's settings block has, within its bounds."""

    kind: Literal["setting"]
    findings: _Findings
    skill: _Name
    setting: _Name
    value: float = Field(allow_inf_nan=False)
    why: _Why


class ProseEdit(_Strict):
    """Words for a section without settings: added, or the section with few lines changed."""

    kind: Literal["prose"]
    findings: _Findings
    skill: _Name
    section: _Name
    action: Literal["append", "prepend", "replace"]
    text: str = Field(max_length=8000)
    why: _Why


class Seen(_Strict):
    """Trouble that the findings show together."""

    summary: str = Field(min_length=1, max_length=400)
    findings: _Findings
    skill: _Name | None
    section: _Name | None
    confidence: float = Field(ge=0, le=1)


class Answer(_Strict):
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
                one.skill,
                one.section,
                one.confidence,
            )
            for one in self.findings
        )


def _draft(patch: SettingEdit | ProseEdit) -> Draft:
    findings = tuple(dict.fromkeys(patch.findings))
    if isinstance(patch, SettingEdit):
        return SettingDraft(findings, patch.skill, patch.setting, patch.value, patch.why)
    return ProseDraft(findings, patch.skill, patch.section, patch.action, patch.text, patch.why)


def answer_schema() -> dict[str, Any]:
    """The JSON schema of an answer, in the part of the language that all services understand."""
    schema: dict[str, Any] = _plain(Answer.model_json_schema())
    return schema


def _plain(node: Any) -> Any:
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    found = {name: _plain(value) for name, value in node.items() if name not in _UNSUPPORTED}
    if isinstance(found.get("properties"), dict):
        found |= {"additionalProperties": False, "required": list(found["properties"])}
    return found


def read_answer(text: str) -> Answer | str:
    """The answer in `text`, or in words what is wrong with it."""
    if len(text) > MAX_ANSWER:
        return f"it has {len(text)} characters; the most is {MAX_ANSWER}"
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"it is not JSON: {str(error)[:200]}"
    try:
        return Answer.model_validate_json(text)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)[:_PROBLEMS]
        return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['msg']}" for one in details)
