"""Pairs of rollouts: each task with the text as it is and as the patch leaves it, in turn. No verdict.

Sides are mixed, so that what changes with time changes both. A rollout that is lost is tried once more; lost
again, it ends the trial, since a trial with a hole proves nothing and would cost as much.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import polars as pl

from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.patches.evidence import Cost, RolloutFacts
from agent_evo_dagster.patches.leaks import Known
from agent_evo_dagster.patches.pairing import BASELINE, CANDIDATE
from agent_evo_dagster.patches.rollout import ROLLOUT_ROWS, SEED, Trial
from agent_evo_dagster.rollouts import records
from agent_evo_dagster.rollouts.protocol import Reader
from agent_evo_dagster.rollouts.tasks import Task, hash_of
from agent_evo_dagster.rollouts.types import Attempt, Budget
from agent_evo_dagster.skills.types import CompiledSkill

Item: TypeAlias = tuple[int, Task, str]  # sample, task, side


@dataclass(slots=True)
class Spent:
    """What rollouts took."""

    attempts: int = 0
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    usd: float = 0.0
    priced: bool = False  # somebody told a price, or bounds it

    def count(self, attempt: Attempt) -> None:
        """Count one; where nobody told what it cost, it is the most that it may have cost."""
        cost = attempt.most_usd if attempt.cost_usd is None else attempt.cost_usd
        self.attempts += 1
        self.calls += attempt.calls
        self.tokens += attempt.tokens
        self.seconds += attempt.seconds
        self.usd += cost or 0.0
        self.priced |= cost is not None

    @property
    def cost_usd(self) -> float | None:
        """US dollars, where they are known."""
        return round(self.usd, 6) if self.priced else None


@dataclass(frozen=True, slots=True)
class Sides:
    """All skills of a project, with one of them as it is, and as a patch leaves it."""

    skill: str
    baseline: Sequence[CompiledSkill]
    candidate: Sequence[CompiledSkill]

    def of(self, side: str) -> Sequence[CompiledSkill]:
        """The skills of a side."""
        return self.baseline if side == BASELINE else self.candidate

    @property
    def hashes(self) -> tuple[str, str]:
        """The skill's own hash on both sides."""
        first, second = (
            next(one.sha256 for one in skills if one.name == self.skill)
            for skills in (self.baseline, self.candidate)
        )
        return first, second


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one rollout: one attempt, or two where the first was lost."""

    request: str  # the hash of all that was tried
    attempts: tuple[Attempt, ...]
    anew: bool  # not on record

    @property
    def last(self) -> Attempt:
        """The one that counts."""
        return self.attempts[-1]


@dataclass(slots=True)
class Runner:
    """Runs trials by one reader within one budget; what is on record counts as spent, and is not run.

    Rollouts run in groups of `workers`, each with an equal share of what is left before its group.
    """

    reader: Reader
    budget: Budget
    samples: int
    scope: str  # what is tried anew elsewhere: a round
    folder: Path | None = None  # of attempts; None: nothing is kept
    workers: int = 1
    spent: Spent = field(default_factory=Spent)  # in all, records among it
    anew: Spent = field(default_factory=Spent)  # now
    models: set[str] = field(default_factory=set)  # those that answered, in all trials
    counted: set[str] = field(default_factory=set)  # requests in `spent`: two patches share their baseline

    def trial(self, sides: Sides, tasks: Sequence[Task]) -> Trial:
        """All pairs of one patch, or those that the budget reached."""
        spent, rows, stopped = Spent(), list[dict[str, object]](), None
        answered = set[tuple[str, ...]]()
        items = order(tasks, self.samples)
        while stopped is None and (group := list(islice(items, self.workers))):
            stopped = self._over()
            for item, tried in zip(group, self._group(sides, group) if stopped is None else (), strict=False):
                self._count(tried, spent)
                rows.append(_row(*item, tried.last))
                if tried.last.done is not None and tried.last.models:
                    answered.add(tuple(sorted(set(tried.last.models))))
                if stopped is None and tried.last.done is None:
                    stopped = tried.last.why
        if stopped is not None:
            done = sum(row["correct"] is not None for row in rows)
            stopped = f"{stopped} ({done} of {2 * self.samples * len(tasks)} rollouts were run)"
        facts = RolloutFacts(
            operator=self.reader.engine,
            model=", ".join(sorted({name for names in answered for name in names})) or self.reader.asked,
            tasks=len(tasks),
            tasks_sha256=hash_of(list(tasks)),
            skill_sha256=sides.hashes,
            samples=self.samples,
            stopped_early=stopped,
        )
        cost = Cost(rollouts=spent.attempts, tokens=spent.tokens, calls=spent.calls, usd=spent.cost_usd)
        frame = pl.DataFrame(rows, schema=ROLLOUT_ROWS, orient="row")
        known = {task.id: Known(task.texts, task.answer) for task in tasks}
        return Trial(frame, facts, cost, known, tuple(sorted(answered)))

    def _over(self) -> str | None:
        """Why nothing more can be spent."""
        left = self._left(1)
        if left.money is not None and left.money <= 0:
            return f"its {self.budget.money:g} USD are spent; AGENT_EVO_ROLLOUT_MONEY bounds them"
        if left.tokens <= 0:
            return f"its {self.budget.tokens} tokens are spent; AGENT_EVO_ROLLOUT_TOKENS bounds them"
        if left.seconds <= 0:
            return f"its {self.budget.seconds:g} seconds are spent; AGENT_EVO_ROLLOUT_SECONDS bounds them"
        return None

    def _left(self, shares: int) -> Budget:
        money = None if self.budget.money is None else (self.budget.money - self.spent.usd) / shares
        tokens = (self.budget.tokens - self.spent.tokens) // shares
        return Budget((self.budget.seconds - self.spent.seconds) / shares, tokens, money)

    def _group(self, sides: Sides, group: Sequence[Item]) -> list[Tried]:
        attempt = partial(self._try, sides, self._left(len(group)))
        if len(group) == 1:
            return [attempt(group[0])]
        with ThreadPoolExecutor(len(group)) as pool:
            return list(pool.map(attempt, group))

    def _try(self, sides: Sides, left: Budget, item: Item) -> Tried:
        """What is on record of this very rollout, else what comes of it now; lost, it is tried once more."""
        sample, task, side = item
        skill, skills = sides.skill, sides.of(side)
        request = self._request(task, skill, skills, sample)
        bounds = [self.budget.seconds, self.budget.tokens, self.budget.money, self.workers]
        bounded = _hashed(request, bounds)
        known = records.find(self.folder, request) or records.find(self.folder, bounded)
        if known is not None:
            return Tried(request, (known,), anew=False)
        attempts = [self.reader.attempt(task, skill, skills, left)]
        if attempts[0].done is None and not attempts[0].ended:
            attempts.append(self.reader.attempt(task, skill, skills, left))
        last = attempts[-1]
        if last.done is not None or last.ended:
            records.keep(self.folder, bounded if last.ended else request, last)
        return Tried(request, tuple(attempts), anew=True)

    def _count(self, tried: Tried, spent: Spent) -> None:
        for attempt in tried.attempts:
            spent.count(attempt)
            if tried.request not in self.counted:
                self.spent.count(attempt)
            if tried.anew:
                self.anew.count(attempt)
            self.models |= set(attempt.models)
        self.counted.add(tried.request)

    def _request(self, task: Task, skill: str, skills: Sequence[CompiledSkill], sample: int) -> str:
        seen = self.reader.sees(skill, skills)
        return _hashed(
            self.scope, [self.reader.engine, self.reader.asked, skill, seen, task.as_json(), sample]
        )


def order(tasks: Sequence[Task], samples: int) -> Iterator[Item]:
    """Every sample of every task on both sides; which comes first is drawn from the task's id."""
    for sample in range(samples):
        for task in tasks:
            first = hashlib.sha256(f"{task.id} {sample}".encode()).digest()[0] % 2
            for side in (BASELINE, CANDIDATE) if first else (CANDIDATE, BASELINE):
                yield sample, task, side


def _row(sample: int, task: Task, side: str, attempt: Attempt) -> dict[str, object]:
    return {
        "policy": side,
        "seed": SEED,
        "mode": "sampled",
        "task_id": task.id,
        "sample": sample,
        "reward": None if attempt.done is None else float(attempt.done),
        "correct": attempt.done,
        "finish": attempt.finish,
        "tokens": attempt.tokens,
    }


def _hashed(*words: object) -> str:
    return sha256_bytes(json.dumps(words).encode())
