"""The closed loop over seeds: three rounds with the gate, with frozen skills, and with a learning rate of 0.

`python -m benchmarks.closed_loop [--seeds 5] [--arms gated,frozen,zero] [--home DIR]` runs the commands
that a person types, each arm and seed in a home of its own, and reads the evaluations that the rounds stored.
A home that has its three rounds is not run again. Takes about 40 minutes on two cores.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.closed_loop_figures import ROUNDS, Trial, read_trial, show, summary

PROJECT = Path(__file__).resolve().parent.parent
# What each arm adds to `agent-evo rounds run`, and to its environment.
ARMS: Mapping[str, tuple[Sequence[str], Mapping[str, str]]] = {
    "gated": ((), {"AGENT_EVO_POLICY": "auto"}),
    "frozen": ((), {"AGENT_EVO_POLICY": "manual"}),  # patches wait, so the skills stay as they are
    "zero": (("--set", "learning_rate=0"), {"AGENT_EVO_POLICY": "auto"}),
}


def command(home: Path, environment: Mapping[str, str], *words: str) -> None:
    """Run one `agent-evo` command on a home.

    Raises:
        CalledProcessError: it failed.
    """
    start = [sys.executable, "-c", "from agent_evo_dagster.cli.main import main; main()", *words]
    variables = {**os.environ, **environment, "AGENT_EVO_HOME": str(home), "AGENT_EVO_PROJECT": str(PROJECT)}
    subprocess.run(start, env=variables, cwd=PROJECT, check=True, stdout=sys.stderr)


def run_trial(home: Path, arm: str, seed: int) -> Trial:
    """Run the rounds of one arm and seed, unless the home has them, and read what they stored."""
    options, environment = ARMS[arm]
    if not (home / "rounds" / ROUNDS[-1] / "status.json").is_file():
        command(home, environment, "import", str(PROJECT / "samples"))
        command(home, environment, "rounds", "run", "--count", "3", "--seed", str(seed), *options)
    return read_trial(home, arm, seed)


def main() -> None:
    """Run every arm and seed; print a table and, last, the figures as one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds, from 0")
    parser.add_argument("--arms", default=",".join(ARMS), help="which of " + ", ".join(ARMS))
    parser.add_argument("--home", type=Path, default=PROJECT / ".agent_evo" / "closed_loop")
    asked = parser.parse_args()
    trials = [
        run_trial(asked.home.resolve() / f"{arm}-{seed}", arm, seed)
        for seed in range(asked.seeds)
        for arm in asked.arms.split(",")
    ]
    print(show(trials))
    print(json.dumps(summary(trials), sort_keys=True))


if __name__ == "__main__":
    main()
