"""What the capture hook costs at each event: the whole process, beside a Python that does nothing."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

HOOK = Path(__file__).parents[1] / "hooks" / "capture.py"
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
    hook = [*PYTHON, str(HOOK), "--spool", str(spool)]
    commands = {
        "bare": ([*PYTHON, "-c", "pass"], b""),
        "1kB": (hook, event(1_000)),
        "100kB": (hook, event(100_000)),
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, (command, data) in commands.items():
            taken[name].append(seconds(partial(subprocess.run, command, input=data, check=True)))
    return {name: statistics.median(times) * 1e3 for name, times in taken.items()}
