"""Judges that cost: each patch goes to the first that takes it, and nobody spends before all can."""

from dataclasses import dataclass, field

import pytest

from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.patches.evidence import Cost, GateEvidence, LlmFacts, RolloutFacts
from agent_evo_dagster.patches.examiners import ExaminerRun, examine
from agent_evo_dagster.patches.gate import needs_person
from agent_evo_dagster.patches.judges import Case
from tests.agent_evo_dagster.patches.material import OPTIMISATION, a_patch


@dataclass
class Fake:
    """An examiner of the patches whose text has a word."""

    name: str
    word: str = ""
    missing: bool = False
    did: list[str] = field(default_factory=list)

    def takes(self, case):
        return self.word in case.patch.body

    def ready(self, cases):
        self.did.append(f"ready for {len(cases)}")
        if self.missing:
            raise SettingsError("no key")

    def examine(self, cases, tell):
        tell(f"{self.name}: {len(cases)}")
        self.did += [case.patch.body for case in cases]
        return self, ExaminerRun(self.name, "fake", "m")

    def judge(self, case):
        return needs_person(case.patch)


def case(body):
    return Case(a_patch(body), None, OPTIMISATION)


def examined(*examiners, bodies, targets=("rllm-config",), told=None):
    return examine([case(body) for body in bodies], examiners, targets, (told or []).append)


def test_each_patch_is_examined_once_by_the_first_that_takes_it():
    first, second, told = Fake("first", "odd"), Fake("second"), ["begin"]
    judges, runs = examined(first, second, bodies=("odd 1\n", "even 2\n", "odd 3\n"), told=told)
    assert judges == [first, second] and [run.judge for run in runs] == ["first", "second"]
    assert first.did == ["ready for 2", "odd 1\n", "odd 3\n"] and second.did == ["ready for 1", "even 2\n"]
    assert told == ["begin", "first: 2", "second: 1"]


def test_without_a_patch_of_its_own_an_examiner_is_not_even_asked_whether_it_can():
    idle = Fake("idle", "never", missing=True)
    assert examined(idle, bodies=("text\n",)) == ([], []) and idle.did == []
    assert examined(Fake("all"), bodies=()) == ([], [])


def test_what_no_evidence_could_let_in_is_not_examined():
    assert examined(Fake("all"), bodies=("text\n",), targets=()) == ([], [])


def test_nobody_spends_before_all_can():
    first, second = Fake("first", "odd"), Fake("second", missing=True)
    with pytest.raises(SettingsError, match="no key"):
        examined(first, second, bodies=("odd 1\n", "even 2\n"))
    assert first.did == ["ready for 1"]


@pytest.mark.parametrize(
    "facts",
    [
        {"judge": "llm", "llm": LlmFacts(**dict.fromkeys(LlmFacts.model_fields, 1) | {
            "service": "s", "model": None, "rubric": "r", "stopped_early": None})},
        {"judge": "rollout", "rollout": RolloutFacts(
            operator="o", model=None, tasks=1, samples=1, tasks_sha256="t", skill_sha256=("s", "p"))},
        {"judge": "none"},
    ],
)  # fmt: skip
def test_evidence_holds_what_its_own_judge_has_and_nothing_of_others(facts):
    cost = {} if facts["judge"] == "none" else {"cost": Cost(calls=2, usd=0.5)}
    evidence = needs_person(a_patch()).model_copy(update={**facts, **cost})
    text = evidence.as_json()
    assert GateEvidence.model_validate_json(text) == evidence
    shown = {name for name in ("rollout", "llm", "replay", "calls", "usd") if f'"{name}":' in text}
    assert shown == (set() if not cost else {facts["judge"], "calls", "usd"})
