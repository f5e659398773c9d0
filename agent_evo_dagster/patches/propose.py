"""Findings become patches: small, typed edits, few a round. No evidence, no decisions.

Findings that name a setting and a direction become edits of settings; after those, session findings with a
known way out become a line of advice. Where an analyst wrote drafts, they take the place of both, and pass
the same checks. Whatever was not proposed is given back with its reason, so that a round can say why nothing
changed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from agent_evo_dagster.analysis.types import SettingHint, Severity
from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.advice import Advice, advised
from agent_evo_dagster.patches.change import settings_change, settings_json, unified_diff
from agent_evo_dagster.patches.document import patch_id, render_patch, section_hash
from agent_evo_dagster.patches.drafts import Draft, ProseDraft, SettingDraft
from agent_evo_dagster.patches.hidden import visible
from agent_evo_dagster.patches.hints import moved, read_hint
from agent_evo_dagster.patches.ledger import Ledger, Verdicts
from agent_evo_dagster.patches.prose import misfit
from agent_evo_dagster.patches.settings_block import SettingSpec, read_settings, with_default
from agent_evo_dagster.patches.tokens import changed_tokens
from agent_evo_dagster.patches.types import PATCH_SCHEMA, Action, Patch

Sections = Mapping[tuple[str, str], str]  # (skill, section) -> text

_SEVERITIES = [Severity.ERROR.value, Severity.WARNING.value, Severity.INFO.value]
_DESCRIPTION = 500  # characters that a patch's description may have
TOKENS = 1_000  # that the patches of a round may change together: added and taken out
PROSE = "prose"  # what a finding wants that asks for no setting
MADE = "made"  # what was skipped: a patch that a person had made of others, by its own id
_NEVER = "traj"  # skills that optimise skills are no target, whatever a bank says


@dataclass(frozen=True, slots=True)
class Skipped:
    """A finding that asked for a change that is not proposed, or a patch made of others that is not."""

    finding_id: str
    setting: str  # or PROSE, or MADE
    reason: str


@dataclass(frozen=True, slots=True)
class Proposals:
    """What a round proposes, and what it does not."""

    patches: tuple[Patch, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class _Wish:
    """What one finding asks for."""

    finding_id: str
    skill: str | None
    hint: SettingHint


@dataclass(slots=True)
class _Round:
    """The proposals of one round while they are made."""

    sections: Sections
    groups: Mapping[str, str]
    key: str
    created: datetime
    decided: Verdicts
    active: Collection[str]
    protected: Collection[tuple[str, str]]
    budget: int
    tokens: int
    patches: dict[str, Patch] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    def consider(self, wish: _Wish) -> None:
        """Add the wish's patch, or the reason why not."""
        self._add(self._moved(wish), (wish.finding_id,), wish.hint.setting)

    def advise(self, advice: Advice) -> None:
        """Add the advice's patch, or the reason why not."""
        self._add(self._bullet(advice), (advice.finding_id,), PROSE)

    def take(self, draft: Draft, known: Collection[str]) -> None:
        """Add an analyst's draft, or the reason why not; `known` are the findings that it was shown."""
        setting = visible(draft.setting) if isinstance(draft, SettingDraft) else PROSE
        unknown = sorted(set(draft.findings) - set(known))
        if unknown or not draft.findings:
            names = visible(", ".join(unknown)) or "none"
            self.skipped.append(Skipped(names, setting, "a draft must name findings of this round"))
            return
        found = self._set(draft) if isinstance(draft, SettingDraft) else self._written(draft)
        self._add(found, draft.findings, setting)

    def take_up(self, made: Patch) -> None:
        """Add a patch that a person had made of others, as this round's, or the reason why not."""
        reason = self._unfit(made) or self._objection(made)
        if reason is not None:
            self.skipped.append(Skipped(made.id, MADE, reason))
        else:
            self.patches[made.id] = made.model_copy(
                update={"source_round": self.key, "created": self.created}
            )

    def _unfit(self, made: Patch) -> str | None:
        """Why a patch does not fit the sections as they are, or the limits of one edit."""
        base = self.sections.get((made.skill, made.target_section))
        if base is None or made.skill not in self.groups:
            return f"{made.target_section} of {made.skill} is no section that rounds may optimise"
        if section_hash(base) != made.base_hash:
            again = f"agent-evo patches rebase {made.id} --by NAME"
            return f"{made.target_section} of {made.skill} was changed since it was made: {again}"
        if settings_change(base, made) is not None:
            return None
        place = f"{made.target_section} of {made.skill}"
        return misfit(base, made.body, made.action, made.description, place)

    def _add(self, found: Patch | str, findings: Sequence[str], wanted: str) -> None:
        reason = found if isinstance(found, str) else self._objection(found)
        if reason is not None:
            self.skipped.extend(Skipped(finding_id, wanted, reason) for finding_id in findings)
        elif isinstance(found, Patch):
            known = self.patches.get(found.id, found.model_copy(update={"findings": ()}))
            named = tuple(dict.fromkeys((*known.findings, *findings)))
            self.patches[found.id] = known.model_copy(update={"findings": named})

    def _moved(self, wish: _Wish) -> Patch | str:
        """The patch of a wish, or why there is none."""
        found = self._holder(wish.skill, wish.hint.setting)
        if isinstance(found, str):
            return found
        section, spec = found
        value = moved(spec, wish.hint)
        if value == spec.default:
            return _unmoved(spec, wish.hint)
        return self._with_value(str(wish.skill), section, spec, value, wish.hint.why)

    def _set(self, draft: SettingDraft) -> Patch | str:
        """The patch that gives a setting the drafted value, or why there is none."""
        found = self._holder(draft.skill, draft.setting)
        if isinstance(found, str):
            return found
        section, spec = found
        reason = draft.misfit(spec)
        return reason or self._with_value(draft.skill, section, spec, draft.value_for(spec), draft.why)

    def _holder(self, skill: str | None, setting: str) -> tuple[str, SettingSpec] | str:
        """The section of `skill` that has the setting, or why there is none."""
        if skill is None or skill not in self.groups:
            return f"the finding's target skill {skill!r} is none that rounds may optimise"
        found = _holders(self.sections, skill, setting)
        if len(found) != 1:
            places = ", ".join(section for section, _ in found) or "no section"
            return f"{places} of {skill} has the setting; one must"
        return found[0]

    def _with_value(self, skill: str, section: str, spec: SettingSpec, value: float, why: str) -> Patch:
        said = f"{spec.name}: {spec.default} -> {value}. {' '.join(why.split())}"
        body = with_default(self.sections[skill, section], spec.name, value)
        return self._patch(skill, section, "replace", body, said)

    def _bullet(self, advice: Advice) -> Patch | str:
        """The patch that appends a line of advice, or why there is none."""
        said = f"seen {advice.seen} times in sessions: {advice.line}"
        return self._edit(advice.skill, advice.section, "append", f"- {advice.line}\n", said)

    def _written(self, draft: ProseDraft) -> Patch | str:
        """The patch of an analyst's words, or why there is none."""
        body = draft.text if draft.text.endswith("\n") else f"{draft.text}\n"
        return self._edit(draft.skill, draft.section, draft.action, body, " ".join(draft.why.split()))

    def _edit(
        self, skill: str | None, section: str | None, action: Action, body: str, said: str
    ) -> Patch | str:
        """The patch that changes prose, or why there is none."""
        if skill is None or self.groups.get(skill, _NEVER) == _NEVER:
            return f"the finding's target skill {skill!r} is none that rounds may optimise"
        base = None if section is None else self.sections.get((skill, section))
        if base is None or section is None:
            return f"no section of {skill} fits the finding"
        reason = misfit(base, body, action, said, f"{section} of {skill}")
        return reason or self._patch(skill, section, action, body, said)

    def _patch(self, skill: str, section: str, action: Action, body: str, said: str) -> Patch:
        base_hash = section_hash(self.sections[skill, section])
        return Patch(
            id=patch_id(skill=skill, section=section, action=action, base_hash=base_hash, body=body),
            group=self.groups[skill],
            skill=skill,
            target_section=section,
            action=action,
            description=said[:_DESCRIPTION],
            base_hash=base_hash,
            source_round=self.key,
            created=self.created,
            body=body,
        )

    def _objection(self, patch: Patch) -> str | None:
        """Why a patch that could be made is not proposed."""
        return None if patch.id in self.patches else next(self._objections(patch), None)

    def _objections(self, patch: Patch) -> Iterator[str]:
        for one in self.decided.values():
            if one.patch_id == patch.id:
                yield f"{patch.id} was decided before: {one.decision} by {one.by}: {one.reason}"
            elif one.rejects(patch):
                yield f"the same edit was rejected by {one.by} before, as {one.patch_id}: {one.reason}"
        if patch.id in self.active:
            yield f"{patch.id} is already in the bank"
        if (patch.skill, patch.target_section) in self.protected:
            yield f"{patch.target_section} of {patch.skill} is protected: no patch may touch it"
        if len(self.patches) >= self.budget:
            yield f"the round's budget of {self.budget} patches went to findings that rank higher"
        took = self._took(patch)
        spent = sum(self._took(one) for one in self.patches.values())
        if spent + took > self.tokens:
            left = self.tokens - spent
            yield f"it changes about {took} tokens; of the round's budget of {self.tokens}, {left} are left"
        for other in self.patches.values():
            if (other.skill, other.target_section) == (patch.skill, patch.target_section):
                yield f"{other.id} edits the same section in this round"

    def _took(self, patch: Patch) -> int:
        """About how many tokens a patch changes."""
        return changed_tokens(self.sections[patch.skill, patch.target_section], patch)


def propose_patches(
    findings: pl.DataFrame,
    sections: Sections,
    groups: Mapping[str, str],
    *,
    round_key: str,
    created: datetime,
    ledger: Ledger,
    budget: int = 1,
    tokens: int = TOKENS,
    active: Collection[str] = (),
    protected: Collection[tuple[str, str]] = (),
    drafts: Sequence[Draft] | None = None,
    made: Sequence[Patch] = (),
) -> Proposals:
    """Turn findings into at most `budget` patches, the weightiest first, and edits of settings before advice.

    `made` are patches that people had made of others and that no round has taken up: they come before all.

    `drafts` are what an analyst made of the findings, in the order of their weight; they alone are proposed
    then, even where there are none.

    `sections` maps (skill, section) to text, `groups` skill to group; `active` holds the ids of patches in
    the bank, `protected` the sections that none may touch. `tokens` is about how many the patches may change
    together. `created` is when the round was opened: decisions after it are not looked at, so that making an
    old round again proposes what it proposed.

    Raises:
        PatchError: a hint or a settings block that cannot be read, or a `created` without a time zone.
    """
    if created.tzinfo is None:
        raise PatchError(f"Round {round_key}: `created` is {created} without a time zone. Give it in UTC.")
    decided = ledger.verdicts(before=created)
    work = _Round(sections, groups, round_key, created, decided, active, protected, budget, tokens)
    for patch in made:
        work.take_up(patch)
    if drafts is None:
        for wish in _wishes(findings):
            work.consider(wish)
        for advice in advised(findings):
            work.advise(advice)
    for draft in drafts or ():
        work.take(draft, findings["finding_id"].to_list())
    return Proposals(tuple(work.patches.values()), tuple(work.skipped))


def objection_to(
    patch: Patch,
    sections: Sections,
    groups: Mapping[str, str],
    *,
    ledger: Ledger,
    active: Collection[str],
    protected: Collection[tuple[str, str]],
) -> str | None:
    """Why no round would propose a patch that is made of others; None where one would."""
    decided = ledger.verdicts()
    work = _Round(sections, groups, "", patch.created, decided, active, protected, budget=1, tokens=TOKENS)
    work.take_up(patch)
    return work.skipped[0].reason if work.skipped else None


def to_frame(patches: Sequence[Patch], sections: Sections) -> pl.DataFrame:
    """The patches as rows (PATCH_SCHEMA), with diff, settings and the text that each was made against."""
    rows = [_row(patch, sections[patch.skill, patch.target_section]) for patch in patches]
    return pl.DataFrame(rows, schema=PATCH_SCHEMA, orient="row")


def _row(patch: Patch, base: str) -> dict[str, object]:
    return {
        "patch_id": patch.id,
        "group": patch.group,
        "skill": patch.skill,
        "section": patch.target_section,
        "action": patch.action,
        "description": patch.description,
        "base_hash": patch.base_hash,
        "base": base,
        "findings": list(patch.findings),
        "settings": settings_json(settings_change(base, patch)),
        "diff": unified_diff(base, patch),
        "document": render_patch(patch),
    }


def _wishes(findings: pl.DataFrame) -> list[_Wish]:
    """The findings with a hint: by severity, confidence and count, then by id so that ties never vary."""
    hinted = findings.filter(pl.col("hint").is_not_null()).with_columns(
        pl.col("severity").cast(pl.Enum(_SEVERITIES)).to_physical().alias("rank")
    )
    ordered = hinted.sort(
        "rank", "confidence", "count", "finding_id", descending=[False, True, True, False], nulls_last=True
    )
    return [
        _Wish(key, skill, read_hint(hint, origin=f"finding {key}"))
        for key, skill, hint in ordered.select("finding_id", "target_skill", "hint").iter_rows()
    ]


def _holders(sections: Sections, skill: str, setting: str) -> list[tuple[str, SettingSpec]]:
    """The sections of `skill` that have `setting`."""
    return [
        (section, spec)
        for (owner, section), text in sorted(sections.items())
        if owner == skill
        for spec in read_settings(text, origin=f"{skill}#{section}")
        if spec.name == setting
    ]


def _unmoved(spec: SettingSpec, hint: SettingHint) -> str:
    bound = spec.max if hint.direction == "raise" else spec.min
    if spec.default == bound:
        return f"{spec.name} is {spec.default} already, the bound that its skill allows"
    return f"{spec.name} stays {spec.default}: a factor of {hint.factor} does not move it"
