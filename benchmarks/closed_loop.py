"""The closed loop over seeds: rounds with the gate, with frozen skills, and with a learning rate of 0.

`python -m benchmarks.closed_loop [--seeds 0-4] [--arms gated,frozen,zero] [--home DIR] [--jobs 2]
[--figure FILE.svg]` runs the commands that a person types, each arm and seed in a home of its own, and reads
what the rounds stored. A home that has its rounds is not run again. Exit code 1: a goal was missed. Takes
about an hour on two busy cores.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.files import write_atomic
from benchmarks.closed_loop_figures import drawn, goals
from benchmarks.closed_loop_fresh import score
from benchmarks.closed_loop_homes import ARMS, PROJECT, Home, code_hash, fill
from benchmarks.closed_loop_report import json_line, table
from benchmarks.closed_loop_trials import Trial, read_trial


def seed_list(text: str) -> list[int]:
    """Seeds from `0-4`, `0,2` or both.

    Raises:
        ValueError: neither a number nor a range.
    """
    ranges = [part.partition("-") for part in text.split(",")]
    return sorted({seed for low, _, high in ranges for seed in range(int(low), int(high or low) + 1)})


def arm_list(text: str) -> list[str]:
    """Arms by name.

    Raises:
        ValueError: an arm that does not exist.
    """
    names = text.split(",")
    if unknown := [name for name in names if name not in ARMS]:
        raise ValueError(f"there is no arm {', '.join(unknown)}; the arms are {', '.join(ARMS)}")
    return names


def run(base: Path, arms: Sequence[str], seeds: Sequence[int], rounds: int, jobs: int) -> list[Trial]:
    """Fill and score the home of every arm and seed, `jobs` at a time, and read them."""
    code = code_hash()
    homes = [Home(base, arm, seed) for seed in seeds for arm in arms]

    def finish(home: Home) -> None:
        seconds = fill(home, rounds, code)
        score(home, rounds)
        print(f"{home.path.name}: {rounds} rounds in {seconds:.0f} s, log {home.log}", file=sys.stderr)

    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(finish, home) for home in homes]:
            done.result()
    ordered = sorted(homes, key=lambda home: (arms.index(home.arm), home.seed))
    return [read_trial(home.path, home.arm, home.seed, rounds) for home in ordered]


def main() -> None:
    """Run every arm and seed; print a table and, last, the figures as one JSON line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=seed_list, default=seed_list("0-4"), help="such as 0-4 or 0,2")
    parser.add_argument("--arms", type=arm_list, default=list(ARMS), help="of " + ",".join(ARMS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--home", type=Path, default=PROJECT / ".agent_evo" / "closed_loop")
    parser.add_argument("--jobs", type=int, default=2, help="homes at a time")
    parser.add_argument("--figure", type=Path, help="where to draw it, as SVG")
    asked = parser.parse_args()
    try:
        trials = run(asked.home.resolve(), asked.arms, asked.seeds, asked.rounds, asked.jobs)
    except AgentEvoError as error:
        sys.exit(f"closed_loop: {error}")
    if asked.figure is not None:
        write_atomic(asked.figure, drawn(trials).svg)
    print(table(trials))
    print(json_line(trials, code_hash()))
    sys.exit(0 if all(goal.met for goal in goals(trials)) else 1)


if __name__ == "__main__":
    main()
