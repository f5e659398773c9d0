"""The examiner of the judge `rollout`: the tasks of a skill, the estimate, the test of itself, the trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.evaluation.regressions import rollouts_needed
from agent_evo_dagster.patches.examiners import ExaminerRun, Tell
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.pairing import MIN_TASKS
from agent_evo_dagster.patches.rollout import NAME, Rollout
from agent_evo_dagster.rollouts.protocol import Reader
from agent_evo_dagster.rollouts.running import Runner, Sides
from agent_evo_dagster.rollouts.self_test import rollout_self_test
from agent_evo_dagster.rollouts.tasks import Task, frozen, of_the_judge, read_tasks
from agent_evo_dagster.rollouts.types import Budget
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_all


@dataclass(frozen=True)
class Material:
    """What a round gives to its rollouts."""

    bank: SkillBank  # as the round read it
    tasks: Path  # folder of the living bank's tasks
    round: str
    kept: Path  # folder of the round's own, for the tasks that it used
    records: Path  # folder of attempts


@dataclass(frozen=True)
class RolloutExaminer:
    """Tries prose of skills that have tasks; `samples` of each on each side, None: as few as can tell.

    `workers` rollouts run at a time.
    """

    reader: Reader
    budget: Budget
    material: Material
    samples: int | None = None
    workers: int = 1
    name: str = NAME

    def takes(self, case: Case) -> bool:
        """Prose of a skill with enough tasks of the judge's split that the reader can do.

        Raises:
            TaskError: a task cannot be used as it is written.
        """
        return case.settings is None and len(self._usable(case.patch.skill)) >= MIN_TASKS

    def ready(self, cases: Sequence[Case]) -> None:
        """Whether the reader can work, and whether so many samples can show anything.

        Raises:
            SettingsError: they cannot.
            AgentEvoError: a key or a program is missing.
        """
        for case in cases:
            tasks = self._usable(case.patch.skill)
            needed = rollouts_needed(len(tasks))
            if self.samples is not None and self.samples < needed:
                raise SettingsError(
                    f"AGENT_EVO_ROLLOUT_SAMPLES={self.samples} was asked for; to see a regression among the "
                    f"{len(tasks)} tasks for {case.patch.skill}, {needed} are needed. Unset it, or raise it."
                )
        self.reader.ready()

    def examine(self, cases: Sequence[Case], tell: Tell) -> tuple[Rollout, ExaminerRun]:
        """Test itself, then run all pairs; what is on record is not run again.

        Raises:
            GateError: it fails its own test.
            AgentEvoError: a task, a record or the bank cannot be read.
        """
        rollout_self_test()
        tasks = {skill: self._kept(skill) for skill in {case.patch.skill for case in cases}}
        expected = "; ".join(
            [*(self._estimate(case, tasks[case.patch.skill]) for case in cases), self._bounds()]
        )
        tell(f"rollout ({self.reader.engine}, {self.reader.asked or 'its own choice of model'}): {expected}")
        material, workers = self.material, self.workers
        runner = Runner(self.reader, self.budget, 0, material.round, material.records, workers)
        baseline, trials = compile_all(material.bank), {}
        for case in cases:
            skill = case.patch.skill
            runner.samples = self._samples(tasks[skill])
            sides = Sides(skill, baseline, compile_all(material.bank, extra=[case.patch]))
            trials[case.patch.id] = runner.trial(sides, tasks[skill])
        used = runner.anew
        run = ExaminerRun(
            judge=self.name,
            engine=self.reader.engine,
            model=", ".join(sorted(runner.models)) or self.reader.asked,
            calls=used.calls,
            tokens=used.tokens,
            cost_usd=used.cost_usd,
            seconds=round(used.seconds, 3),
            estimate=expected,
        )
        return Rollout(trials), run

    def _usable(self, skill: str) -> list[Task]:
        """Tasks of the judge's split that the reader can do: what the round used before, else the bank's."""
        path = self._path(skill)
        if path.exists():
            return [task for task in frozen([], path) if self.reader.can_do(task)]
        found = read_tasks(self.material.tasks, self.material.bank.ref(skill).name)
        return [task for task in of_the_judge(found) if self.reader.can_do(task)]

    def _kept(self, skill: str) -> list[Task]:
        return frozen(self._usable(skill), self._path(skill))

    def _path(self, skill: str) -> Path:
        return self.material.kept / f"{self.material.bank.ref(skill).name}.jsonl"

    def _samples(self, tasks: Sequence[Task]) -> int:
        return self.samples or rollouts_needed(len(tasks))

    def _bounds(self) -> str:
        money = "" if self.budget.money is None else f", {self.budget.money:g} USD"
        return f"all within {self.budget.seconds:g} s, {self.budget.tokens} tokens{money}"

    def _estimate(self, case: Case, tasks: Sequence[Task]) -> str:
        """The most that a trial may take, in words."""
        samples = self._samples(tasks)
        most = [self.reader.most(task) for task in tasks]
        known = [cost for cost in most if cost is not None]
        number = 2 * samples * len(tasks)
        cost = f", at most {2 * samples * sum(known):.2f} USD" if len(known) == len(most) else ""
        return f"{case.patch.id}: {len(tasks)} tasks x {samples} x 2 sides = {number} rollouts{cost}"
