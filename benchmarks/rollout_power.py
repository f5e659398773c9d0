"""How often the judge `rollout` accepts a text, by how much it really helps: simulated, nobody is asked.

Usage: `python -m benchmarks.rollout_power [--trials 1000] [--tasks 20]`. Each trial draws tasks of different
difficulty, and rollouts of each with the old text and with the new one; samples are as many as the judge asks
for. The last line is one JSON object.
"""

import argparse
import json
import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count, islice

import polars as pl

from agent_evo_dagster.evaluation.intervals import wilson
from agent_evo_dagster.evaluation.regressions import rollouts_needed
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.patches.acceptance.improvement import Improvement
from agent_evo_dagster.patches.gate import measure
from agent_evo_dagster.patches.pairing import BASELINE, CANDIDATE, MIN_TASKS, pair
from agent_evo_dagster.patches.rollout import ROLLOUT_ROWS
from agent_evo_dagster.patches.types import GateVerdict

GAINS = (-0.1, 0.0, 0.1, 0.2, 0.3)  # of the chance that a task is done
EASIEST, HARDEST = 0.8, 0.2

Chances = Sequence[tuple[float, float]]  # of each task: with the old text, with the new one


def gained(gain: float, tasks: int, rng: random.Random) -> Chances:
    """Tasks of which each is done more often by `gain`."""
    before = [rng.uniform(HARDEST, EASIEST) for _ in range(tasks)]
    return [(one, min(1.0, max(0.0, one + gain))) for one in before]


def one_lost(tasks: int, rng: random.Random) -> Chances:
    """Tasks that are all done more often by .3, but for one that always was and never is."""
    return [(1.0, 0.0), *gained(0.3, tasks - 1, rng)]


def verdict(chances: Chances, samples: int, rng: random.Random) -> GateVerdict:
    """What the judge says of rollouts with these chances."""
    names = (f"task-{number}" for number in count())
    ids = islice((name for name in names if split_of(name) == "judge"), len(chances))
    rows = [
        (side, 0, "sampled", name, sample, float(done), done, "stop", 0)
        for name, both in zip(ids, chances, strict=True)
        for side, chance in zip((BASELINE, CANDIDATE), both, strict=True)
        for sample in range(samples)
        for done in [rng.random() < chance]
    ]
    frame = pl.DataFrame(rows, schema=ROLLOUT_ROWS, orient="row")
    return Improvement().verdict(measure(pair(frame)))[0]


def accepted(draw: Callable[[random.Random], Chances], trials: int, samples: int) -> dict[str, float]:
    """The share of trials that are accepted, with its interval."""
    rng = random.Random(0)
    found = [verdict(draw(rng), samples, rng) for _ in range(trials)]
    share = wilson(found.count(GateVerdict.ACCEPT), trials)
    return {"accepted": round(share.mean, 3), "low": round(share.low, 3), "high": round(share.high, 3)}


def power(trials: int, tasks: int) -> dict[str, object]:
    """What the judge accepts of texts with known gains."""
    samples = rollouts_needed(tasks)
    found = {f"{gain:+.1f}": accepted(partial(gained, gain, tasks), trials, samples) for gain in GAINS}
    found["+0.3, one task lost"] = accepted(partial(one_lost, tasks), trials, samples)
    return {"tasks": tasks, "samples": samples, "trials": trials, "gains": found}


def main() -> None:
    """Print all figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=MIN_TASKS)
    options = parser.parse_args()
    figures = power(options.trials, options.tasks)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
