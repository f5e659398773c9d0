"""The gate on against the gate off, over the same stream of helpful, useless and harmful edits.

`python -m benchmarks.gate_ablation [--home FOLDER] [--seeds 5] [--rounds 5] [--figure FILE.svg]` runs five
rounds on the embedded policy for each seed and arm, through the library's own patches, gate, decisions and
adoption, without Dagster and sessions. What is done is kept in the home, and not done again. The last line
is one JSON object; the exit code is 1 where the gate does not pay.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.files import write_atomic
from benchmarks.closed_loop_homes import code_hash
from benchmarks.gate_ablation_figures import drawn, json_line, met, table
from benchmarks.gate_ablation_rounds import ARMS, Arm, Plan, Trial


def trials(home: Path, seeds: Sequence[int], plan: Plan, *, together: int) -> list[Trial]:
    """Every arm of every seed, in that order; so many seeds at a time."""
    _own(home)

    def of_seed(seed: int) -> list[Trial]:
        return [Arm(home, name, seed, plan).run() for name in ARMS]

    with ThreadPoolExecutor(together) as pool:
        return [trial for pair in pool.map(of_seed, seeds) for trial in pair]


def _own(home: Path) -> None:
    """Refuse a home of other code: figures of the two are not mixed."""
    mark, code = home / "code", code_hash()
    if not mark.exists():
        home.mkdir(parents=True, exist_ok=True)
        write_atomic(mark, code.encode())
    elif mark.read_text() != code:
        raise RoundError(f"{home} was made by code {mark.read_text()}, this is {code}. Name another --home.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, default=Path(".agent_evo/gate_ablation"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--together", type=int, default=2, help="seeds at a time, one core each")
    parser.add_argument("--figure", type=Path, help="where to draw it, as SVG")
    asked = parser.parse_args()
    plan = Plan(rounds=asked.rounds)
    found = trials(asked.home.resolve(), range(asked.seeds), plan, together=asked.together)
    if asked.figure is not None:
        write_atomic(asked.figure, drawn(found).svg)
    print(table(found))
    print(json_line(found))
    return 0 if met(found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
