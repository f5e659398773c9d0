"""Groups of rollouts that are compared with each other: failed rows are attempted again and counted."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.environments.types import Episode, Task
from agent_evo_dagster.training.rollout.frames import Scored, scored
from agent_evo_dagster.training.rollout.taxonomy import Truncated, failed, trains
from agent_evo_dagster.training.rollout.types import Limits, Sampling, Trajectory

MakeEpisode = Callable[[Task], Episode]
Attempt = Callable[[Sequence[Episode], Limits, Sampling], list[Trajectory]]
USABLE = 2  # rows that a group needs: one alone has nothing to be compared with


@dataclass(frozen=True)
class Rules:
    """What is done about rows that cannot be used."""

    group_size: int
    refills: int = 0  # further attempts at a failed row
    truncated: Truncated = "score"


@dataclass(frozen=True)
class Batch:
    """Rollouts in the order of their tasks, with what was done about those that failed."""

    rollouts: tuple[Scored, ...]
    rules: Rules
    abandoned: Mapping[str, int]  # attempts that another one replaced, by their finish
    sampled_in_vain: int = 0  # tokens of those

    @property
    def usable(self) -> tuple[bool, ...]:
        """For each rollout, whether it trains: what it was, and enough others in its group that may."""
        may = [trains(each.trajectory.finish, self.rules.truncated) for each in self.rollouts]
        size = self.rules.group_size
        enough = [sum(may[at : at + size]) >= USABLE for at in range(0, len(may), size)]
        return tuple(each and enough[at // size] for at, each in enumerate(may))

    def metrics(self) -> dict[str, float | None]:
        """Counts of this batch, under names of our own."""
        size, usable = self.rules.group_size, self.usable
        skipped = sum(not any(usable[at : at + size]) for at in range(0, len(usable), size))
        faithful = sum(each.trajectory.faithful for each in self.rollouts) / len(self.rollouts)
        return {
            "rollout/usable": sum(usable) / len(usable),
            "rollout/groups_skipped": float(skipped),
            "rollout/refilled": float(sum(self.abandoned.values())),
            "rollout/refilled_timeout": float(self.abandoned.get("timeout", 0)),
            "rollout/refilled_infra_error": float(self.abandoned.get("infra_error", 0)),
            "rollout/shortened": float(sum(each.trajectory.shortened for each in self.rollouts)),
            "rollout/drift": 1 - faithful,
        }

    @property
    def sampled(self) -> int:
        """Tokens that the policy sampled, those included that are in no row."""
        kept = sum(each.trajectory.sampled + each.trajectory.sampled_before for each in self.rollouts)
        return kept + self.sampled_in_vain


def attempt_groups(
    attempt: Attempt,
    make: MakeEpisode,
    tasks: Sequence[Task],
    *,
    limits: Limits,
    sampling: Sampling,
    rules: Rules,
) -> Batch:
    """One rollout for each of `tasks`, whose groups are consecutive; each row keeps its place.

    Raises:
        TrainingError: every rollout failed, each time: the environment cannot be what it should.
    """
    rollouts = _attempted(attempt, [make(task) for task in tasks], limits, sampling)
    abandoned: Counter[str] = Counter()
    in_vain = 0
    for number in range(1, rules.refills + 1):
        broken = [at for at, each in enumerate(rollouts) if failed(each.trajectory.finish)]
        if not broken:
            break
        again = Sampling(sampling.temperature, refill_seed(sampling.seed, number))
        for at in broken:
            abandoned[str(rollouts[at].trajectory.finish)] += 1
            in_vain += rollouts[at].trajectory.sampled + rollouts[at].trajectory.sampled_before
        fresh = _attempted(attempt, [make(tasks[at]) for at in broken], limits, again)
        for at, rollout in zip(broken, fresh, strict=True):
            rollouts[at] = rollout
    _require_one(rollouts)
    return Batch(tuple(rollouts), rules, dict(abandoned), in_vain)


def _attempted(
    attempt: Attempt, episodes: Sequence[Episode], limits: Limits, sampling: Sampling
) -> list[Scored]:
    trajectories = attempt(episodes, limits, sampling)
    return [scored(*pair) for pair in zip(episodes, trajectories, strict=True)]


def _require_one(rollouts: Sequence[Scored]) -> None:
    if rollouts and all(failed(each.trajectory.finish) for each in rollouts):
        first = rollouts[0].trajectory
        raise TrainingError(
            f"All {len(rollouts)} rollouts of a batch failed, none of them by the policy. The first ended as "
            f"{first.finish}: {first.error}. Mend the environment, or give it more time."
        )


def refill_seed(seed: int, number: int) -> int:
    """Seed of the `number`-th further attempt: other luck, and the same luck in every run."""
    digest = hashlib.sha256(f"refill:{seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:7], "big")
