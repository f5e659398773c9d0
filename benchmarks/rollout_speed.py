"""Speed and memory of rollouts: ours, TRL's own tool loop, one conversation at a time, and the floor.

`python -m benchmarks.rollout_speed [--checkpoint DIR] [--prompts 64] [--seeds 3] [--passes 3]` rolls out the
same problems with the same sampling and the same limits in each way, on one thread. The ways take turns, so
that all see the same load; a seed counts with the CPU seconds of its best pass. Peak memory is that of one
pass in a process of its own. The last line is one JSON object; the exit code is 1 where a goal is missed.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.training.policy.checkpoints import load_policy
from agent_evo_dagster.training.process_environment import prepare
from benchmarks.rollout_speed_ways import Pass, Ways

GOALS = {"x_trl": 1.5, "x_one_at_a_time": 12.0}
REAL = ("ours", "trl", "one_at_a_time")  # ways that roll out; the floor only computes


@dataclass(frozen=True)
class Speed:
    """One way over all seeds."""

    seconds: float  # of the processor, the best pass of each seed
    rollouts: int
    sampled: int

    def figures(self) -> dict[str, float]:
        """What is printed of it."""
        return {
            "cpu_s": round(self.seconds, 4),
            "rollouts_per_s": round(self.rollouts / self.seconds, 1),
            "tokens_per_s": round(self.sampled / self.seconds),
            "tokens_per_rollout": round(self.sampled / self.rollouts, 1),
        }


def speeds(
    ways: Mapping[str, Callable[[int], Pass]], rollouts: int, *, seeds: int, passes: int
) -> dict[str, Speed]:
    """All ways, in turns."""
    best: dict[tuple[str, int], Pass] = {}
    for _ in range(passes):
        for seed in range(seeds):
            for name, way in ways.items():
                found = way(seed)
                best[name, seed] = min(best.get((name, seed), found), found, key=lambda each: each.seconds)
    return {name: _over_seeds([best[name, seed] for seed in range(seeds)], rollouts) for name in ways}


def _over_seeds(passes: Sequence[Pass], rollouts: int) -> Speed:
    seconds, sampled = sum(each.seconds for each in passes), sum(each.sampled for each in passes)
    return Speed(seconds, rollouts * len(passes), sampled)


def ratios(found: Mapping[str, Speed]) -> dict[str, float]:
    """Ours against the others, by rollouts for each CPU second."""
    times = {name: found[name].seconds / found["ours"].seconds for name in found}
    of_floor = round(times["floor"], 3)
    return {
        "x_trl": round(times["trl"], 2),
        "x_one_at_a_time": round(times["one_at_a_time"], 2),
        "of_floor": of_floor,
    }


def met(found: Mapping[str, float]) -> bool:
    """Whether the goals are reached."""
    return all(found[name] >= goal for name, goal in GOALS.items())


def memory_in_a_process(way: str, prompts: int, checkpoint: Path | None) -> dict[str, float]:
    """Megabytes that one pass held at the most, and the process before it."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.rollout_speed",
        "--memory-of",
        way,
        "--prompts",
        str(prompts),
    ]
    if checkpoint is not None:
        command += ["--checkpoint", str(checkpoint.resolve())]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1])
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def memory(ways: Ways, way: str) -> dict[str, float]:
    """Those of this process, where nothing else was rolled out."""
    if way == "trl":
        _ = ways.trl_loop
    before = _most_megabytes()
    getattr(ways, way)(0)
    return {"before_mb": before, "peak_mb": _most_megabytes()}


def _most_megabytes() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1)


def _loaded(checkpoint: Path | None, prompts: int) -> Ways:
    prepare(threads=1)
    import torch

    torch.set_num_threads(1)
    return Ways(load_policy(checkpoint), prompts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=None, help="default: the embedded base policy")
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--passes", type=int, default=3, help="over each seed, of which the best counts")
    parser.add_argument("--memory-of", choices=REAL, help="only the memory of one pass of this way")
    asked = parser.parse_args()
    if asked.memory_of:
        print(json.dumps(memory(_loaded(asked.checkpoint, asked.prompts), asked.memory_of)))
        return 0
    # First, since a process that is started may be told the size of the one that starts it.
    held = {way: memory_in_a_process(way, asked.prompts, asked.checkpoint) for way in REAL}
    ways = _loaded(asked.checkpoint, asked.prompts)
    calls = {name: getattr(ways, name) for name in (*REAL, "floor")}
    found = speeds(calls, asked.prompts, seeds=asked.seeds, passes=asked.passes)
    compared = ratios(found)
    figures = {name: {**speed.figures(), **held.get(name, {})} for name, speed in found.items()}
    for name, each in figures.items():
        print(f"{name:14}", *(f"{figure} {value:>9,}" for figure, value in each.items()))
    print(json.dumps({"benchmark": "rollout_speed", "prompts": asked.prompts, **compared, "ways": figures}))
    return 0 if met(compared) else 1


if __name__ == "__main__":
    raise SystemExit(main())
