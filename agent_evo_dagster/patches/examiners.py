"""The seam for judges that are asked for by name: who examines what, and what ran. No examiner.

An examiner asks a model, or runs an operator, and gives the judge of what it learnt. What it cannot do as it
was asked is an error: no other steps in for it.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_evo_dagster.patches.judges import Case, Judge

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ExaminerRun:
    """What ran for an examiner; engine and model are those that really answered, as they tell themselves."""

    judge: str
    engine: str
    model: str | None  # None: the engine does not tell
    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None  # None: nobody told a price
    seconds: float = 0.0
    estimate: str = "nothing had to be asked"  # told before


class Examiner(Protocol):
    """Learns of patches what only costly means tell."""

    @property
    def name(self) -> str:
        """The name of its judge."""

    def takes(self, case: Case) -> bool:
        """Whether it examines patches that touch what this one touches; the texts say so, not the patch."""

    def ready(self, cases: Sequence[Case]) -> None:
        """Look whether it can examine `cases`, at no cost; what it did before it need not be able to do.

        Raises:
            AgentEvoError: a key, a program or a setting is missing.
        """

    def examine(self, cases: Sequence[Case], tell: Tell) -> tuple[Judge, ExaminerRun]:
        """Test itself, then examine; `tell` is given a line for people before anything is spent.

        The judge has something on each of the cases, be it that the budget ended before it.

        Raises:
            GateError: it fails its own test.
            AgentEvoError: it could not be done as asked; nothing else is done instead.
        """


def examine(
    cases: Sequence[Case], examiners: Sequence[Examiner], targets: Collection[str], tell: Tell
) -> tuple[list[Judge], list[ExaminerRun]]:
    """Have each patch of a skill in `targets` examined by the first examiner that takes it.

    All that have something to do are asked whether they can before the first of them spends anything; one
    without a patch does nothing.

    Raises:
        AgentEvoError: one of them cannot, or fails its own test.
    """
    left = [case for case in cases if case.patch.skill in targets]
    work: list[tuple[Examiner, list[Case]]] = []
    for one in examiners:
        mine = [case for case in left if one.takes(case)]
        left = [case for case in left if case not in mine]
        if mine:
            work.append((one, mine))
    for one, mine in work:
        one.ready(mine)
    done = [one.examine(mine, tell) for one, mine in work]
    return [judge for judge, _ in done], [run for _, run in done]
