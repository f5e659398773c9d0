"""The verdict of a round: one headline and a few sentences with figures. No tables."""

from agent_evo_dagster.analysis.text import fixed, plural
from agent_evo_dagster.analysis.views.gate import change_words
from agent_evo_dagster.analysis.views.page import PatchView, Verdict
from agent_evo_dagster.analysis.views.policy import Change


def verdict(patches: tuple[PatchView, ...], change: Change | None) -> Verdict:
    """What changed in the skills, whether the policy got better, and what waits."""
    tone, policy, figures = _policy(change)
    headline, skills = _skills(patches)
    waiting = sum(patch.decision == "wait" for patch in patches)
    waits = f" {_patches(waiting)} {'waits' if waiting == 1 else 'wait'} for a person." if waiting else ""
    return Verdict(f"{policy}; {headline}.{waits}", (figures, *skills), tone)


def _policy(change: Change | None) -> tuple[str, str, str]:
    if change is None:
        return (
            "even",
            "The policy was not evaluated",
            "There are no held-out scores before and after training.",
        )
    figures = (
        f"Held-out accuracy {fixed(change.before)} → {fixed(change.after)} "
        f"({change.words}, {change.mode}, paired over {change.tasks} tasks)."
    )
    if change.low > 0:
        return "good", "The policy got better", figures
    if change.high < 0:
        return "bad", "The policy got worse", figures
    return "even", "No change of the policy can be told from noise", figures


def _skills(patches: tuple[PatchView, ...]) -> tuple[str, tuple[str, ...]]:
    approved = [patch for patch in patches if patch.decision == "approve"]
    sentences = tuple(f"{patch.target}: {change_words(patch)}; {patch.decided}" for patch in patches)
    if approved:
        skills = sorted({patch.target.split("/")[0] for patch in approved})
        return f"{_patches(len(approved))} to {', '.join(skills)} approved", sentences
    if not patches:
        return "no skill was changed", ("No patch was proposed.",)
    return "no skill was changed", sentences


def _patches(count: int) -> str:
    return "1 patch" if count == 1 else plural(count, "patche")
