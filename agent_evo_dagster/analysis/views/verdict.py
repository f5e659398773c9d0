"""The verdict of a round: one headline and a few sentences with figures. No tables."""

from collections.abc import Sequence

from agent_evo_dagster.analysis.text import fixed, plural
from agent_evo_dagster.analysis.views.gate import change_words
from agent_evo_dagster.analysis.views.page import PatchView, Verdict
from agent_evo_dagster.analysis.views.policy import Change

_NEXT = "This round trained with the skills as they were; what it approved counts from the next one on."


def verdict(
    patches: tuple[PatchView, ...], change: Change | None, taken_out: Sequence[tuple[str, str]] = ()
) -> Verdict:
    """What changed in the skills, whether the model got better, what waits, and what was undone since."""
    tone, model, figures = _model(change)
    waiting = sum(patch.standing == "wait" for patch in patches)
    waits = f" {_patches(waiting)} {'waits' if waiting == 1 else 'wait'} for a person." if waiting else ""
    undone = sorted({skill for _, skill in taken_out})
    out = f" {_patches(len(taken_out), 'earlier ')} taken out of {', '.join(undone)}." if taken_out else ""
    sentences = [_sentence(patch) for patch in patches] or ["No patch was proposed."]
    if any(patch.standing in {"in", "approve"} for patch in patches):
        sentences.append(_NEXT)
    sentences += [f"{name} was taken out of {skill}: the model got worse." for name, skill in taken_out]
    return Verdict(f"{model}; {_skills(patches)}.{waits}{out}", (figures, *sentences), tone)


def _model(change: Change | None) -> tuple[str, str, str]:
    if change is None:
        return (
            "even",
            "The model was not evaluated",
            "There are no held-out scores before and after training.",
        )
    figures = (
        f"Held-out accuracy {fixed(change.before)} → {fixed(change.after)} "
        f"({change.words}, {change.mode}, paired over {change.tasks} tasks)."
    )
    if change.low > 0:
        return "good", "The model got better", figures
    if change.high < 0:
        return "bad", "The model got worse", figures
    return "even", "No change of the model can be told from noise", figures


def _skills(patches: Sequence[PatchView]) -> str:
    approved = [patch for patch in patches if patch.standing in {"in", "approve"}]
    gone = [patch for patch in patches if patch.standing == "out"]
    told = [f"{_patches(len(approved))} to {_named(approved)} approved"] if approved else []
    told += [f"{_patches(len(gone))} to {_named(gone)} taken out again since"] if gone else []
    return ", ".join(told) or "no skill was changed"


def _named(patches: Sequence[PatchView]) -> str:
    return ", ".join(sorted({patch.target.split("/")[0] for patch in patches}))


def _sentence(patch: PatchView) -> str:
    said = f"{patch.target}: {change_words(patch).rstrip('.')}; {patch.decided}"
    return f"{said}. Since then: {patch.since}" if patch.since else said


def _patches(count: int, which: str = "") -> str:
    return f"1 {which}patch" if count == 1 else plural(count, f"{which}patche")
