"""Speed of capture: what the hook costs at each event, and what reading costs, each against a floor.

    python benchmarks/capture_speed.py [--sessions FOLDER] [--rounds N]

The hook's floor is a Python that does nothing; the reader's is `json.loads` over the same lines.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.capture.read import read_slices
from agent_evo_dagster.capture.slices import available_slices, spool_files

ROOT = Path(__file__).parents[1]
PYTHON = [str(Path(sys.executable).resolve()), "-I", "-S"]


def seconds(action: Callable[[], object]) -> float:
    """Wall time of one call."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def event(size: int) -> bytes:
    """A hook's stdin of about `size` bytes."""
    fields = {"session_id": "bench", "hook_event_name": "PostToolUse", "tool_name": "Bash"}
    return json.dumps(fields | {"tool_response": {"stdout": "x" * size}}, separators=(",", ":")).encode()


def hook_times(spool: Path, rounds: int) -> dict[str, float]:
    """Median milliseconds of each whole process, taken in turns so that all see the same load."""
    hook = [*PYTHON, str(ROOT / "hooks" / "capture.py"), "--spool", str(spool)]
    commands = {
        "bare": ([*PYTHON, "-c", "pass"], b""),
        "1 kB": (hook, event(1_000)),
        "100 kB": (hook, event(100_000)),
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, (command, data) in commands.items():
            run = partial(subprocess.run, command, input=data, check=True)
            taken[name].append(seconds(run))
    return {name: statistics.median(times) * 1e3 for name, times in taken.items()}


def reading_times(spool: Path, rounds: int) -> tuple[int, float, float]:
    """Lines, and the best seconds of the floor and of the reader."""
    lines = [line for path in spool_files(spool) for line in path.read_bytes().split(b"\n") if line]
    later = datetime.now(UTC) + timedelta(days=1)
    slices = available_slices(spool, [], now=later, quiet=timedelta(), include_open=True)
    floor = min(seconds(lambda: [json.loads(line) for line in lines]) for _ in range(rounds))
    read = min(seconds(lambda: read_slices(spool, slices, key=b"k" * 32)) for _ in range(rounds))
    return len(lines), floor, read


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=Path, default=ROOT / "samples")
    parser.add_argument("--rounds", type=int, default=50)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = hook_times(Path(folder) / "hook", asked.rounds)
        for name, milliseconds in times.items():
            print(f"hook, {name}: {milliseconds:.2f} ms, {milliseconds / times['bare']:.2f} x bare")
        import_sessions(asked.sessions, Path(folder) / "spool")
        lines, floor, read = reading_times(Path(folder) / "spool", min(asked.rounds, 10))
        print(
            f"reading {lines} lines: {read * 1e3:.1f} ms, {read / floor:.1f} x json.loads "
            f"({floor * 1e3:.1f} ms)"
        )


if __name__ == "__main__":
    main()
