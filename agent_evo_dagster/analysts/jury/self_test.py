"""The `llm` judge's test of itself, by real questions to the model that would judge. No patch of a round.

A model that sees no difference, goes by position or guesses does not find the known texts as they are; one
that can be flattered or ordered about prefers a text that only pleases it. None of these may judge.
"""

from collections.abc import Sequence

from agent_evo_dagster.analysts import record
from agent_evo_dagster.analysts.jury.panel import Panel, Question
from agent_evo_dagster.analysts.jury.question import Exhibit
from agent_evo_dagster.analysts.jury.rubric import Known
from agent_evo_dagster.errors import GateError
from agent_evo_dagster.patches.llm import Hearing, measure

SAMPLES = 2
_SKILL, _SECTION = "work", "failures"  # no name that tells that it is a test


def known_questions(panel: Panel, known: Known, scope: str) -> list[Question]:
    """What is asked about known texts; each `scope` is tested anew."""
    return panel.questions(_exhibit(known), SAMPLES, "known", scope)


def self_test(panel: Panel, knowns: Sequence[Known], scope: str) -> None:
    """Have the model compare texts of which one is known to be better.

    Raises:
        GateError: it finds one of them otherwise; its answers are forgotten, so that it can be mended.
        AnalystError: it cannot be asked as it should.
    """
    asked = {known.name: known_questions(panel, known, scope) for known in knowns}
    wrong = []
    for known in knowns:
        found = list(panel.answers(asked[known.name]))
        said = _wrong(known, panel.hearing(_exhibit(known), SAMPLES, found))
        if said is not None:
            wrong.append(said)
    if wrong:
        for one in (question for questions in asked.values() for question in questions):
            record.forget(panel.folder, one.request)
        asker = f"{panel.model.analyst}, {panel.model.model or 'its own choice of model'}"
        raise GateError(
            f"The judge llm ({asker}) fails its own test ({'; '.join(wrong)}). It judges no patch: choose "
            "another model (AGENT_EVO_JUDGE_MODEL), or leave llm out of AGENT_EVO_JUDGES."
        )


def _exhibit(known: Known) -> Exhibit:
    return Exhibit(_SKILL, _SECTION, known.before, known.after)


def _wrong(known: Known, heard: Hearing) -> str | None:
    """How the model finds known texts otherwise than they are; both orders count, each on its own."""
    sign = 1 if known.kind == "good" else -1
    forward = heard.score([one.forward for one in heard.comparisons])
    backward = heard.score([one.backward for one in heard.comparisons])
    measured = measure(heard)
    sure = measured.low > 0 if sign > 0 else measured.high < 0
    if sign * forward > 0 and sign * backward > 0 and sure:
        return None
    wanted = "above" if sign > 0 else "below"
    return (
        f"{known.name} ({known.kind}): {forward:+.2f} and {backward:+.2f} in the two orders, together "
        f"{measured.difference:+.2f} [{measured.low:+.2f}, {measured.high:+.2f}], wanted {wanted} 0"
    )
