"""What it costs to read, redact, judge and cut sessions: time by stage, memory, and what redaction takes."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from agent_evo_dagster.capture.read import read_slices
from agent_evo_dagster.capture.slices import available_slices, spool_files
from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.trajectories.build import build_trajectories
from agent_evo_dagster.warehouse import Warehouse
from benchmarks.capture_hook import seconds

KEY = b"k" * 32
KINDS = ("", "_cpu")  # of time: by the clock, of the processor
_BATCH = 32 << 20  # bytes of sessions that are worked on together


def all_slices(spool: Path) -> list[FileSlice]:
    """Everything in a spool."""
    later = datetime.now(UTC) + timedelta(days=1)
    return available_slices(spool, [], now=later, quiet=timedelta(), include_open=True)


def batches(slices: Iterable[FileSlice], size: int) -> Iterator[list[FileSlice]]:
    """The slices in order, in groups of about `size` bytes."""
    batch: list[FileSlice] = []
    held = 0
    for part in slices:
        batch.append(part)
        held += part.end - part.start
        if held >= size:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def chain_times(spool: Path, rounds: int) -> dict[str, float]:
    """Best milliseconds of each stage and of the floor."""
    lines = [line for path in spool_files(spool) for line in path.read_bytes().split(b"\n") if line]
    slices = all_slices(spool)
    events = read_slices(spool, slices, key=KEY).events
    steps = build_trajectories(events)
    actions: dict[str, Callable[[], object]] = {
        "json": lambda: [json.loads(line) for line in lines],
        "read": lambda: read_slices(spool, slices, key=KEY),
        "trajectories": lambda: build_trajectories(events),
        "segments": lambda: build_segments(steps),
    }
    return {"lines": len(lines), **best_times(actions, rounds)}


def best_times(actions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Best milliseconds of each, by clock and of processor, in turns so that all see the same load."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, action in actions.items():
            begun = time.process_time()
            wall = seconds(action)
            taken = {f"{name}_ms": wall * 1e3, f"{name}_cpu_ms": (time.process_time() - begun) * 1e3}
            best |= {figure: min(value, best.get(figure, value)) for figure, value in taken.items()}
    return best


def taken_for_secrets(spool: Path) -> dict[str, float]:
    """Events with a placeholder, and placeholders: of sessions that hold no secret, each is one too many."""
    events = read_slices(spool, all_slices(spool), key=KEY).events
    text = events.select(pl.concat_str(pl.col(pl.String), separator="\n", ignore_nulls=True)).to_series()
    found = text.str.count_matches("<redacted:", literal=True)
    return {"events_redacted": float((found > 0).sum()), "placeholders": float(found.sum())}


def repeat(spool: Path, target: Path, size: int) -> None:
    """Fill another spool with the sessions of this one, under new names, up to `size` bytes."""
    files = list(spool_files(spool))
    written = number = 0
    while files and written < size:
        for path in files:
            data = path.read_bytes()
            name = path.parent.name if path.name == "events.jsonl" else path.stem
            copy = target / "hooks" / f"{name}-{number:05d}.jsonl"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data.replace(name.encode(), copy.stem.encode()).rstrip(b"\n") + b"\n")
            written += len(data)
        number += 1


def chain_in_a_process(spool: Path) -> dict[str, float]:
    """Run the whole chain in a process of its own: bytes, seconds (by clock, of processor), most memory."""
    command = [sys.executable, "-m", "benchmarks.capture_chain", str(spool)]
    done = subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[1])
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """The chain over the spool that the command line names, some sessions at a time, stored as rounds are."""
    spool = Path(sys.argv[1])
    slices = all_slices(spool)

    def run(warehouse: Warehouse) -> None:
        for number, batch in enumerate(batches(slices, _BATCH)):
            events = read_slices(spool, batch, key=KEY).events
            steps = build_trajectories(events)
            frames = {"events": events, "steps": steps, "segments": build_segments(steps)}
            for name, frame in frames.items():
                warehouse.write([name], f"part-{number:04d}", frame)

    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        taken = seconds(lambda: run(Warehouse(Path(folder))))
    cpu = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    size = sum(part.end for part in slices)
    print(json.dumps({"bytes": size, "s": taken, "cpu_s": cpu, "peak_mb": peak}))


if __name__ == "__main__":
    main()
