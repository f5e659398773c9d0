"""Speed, memory and redaction of capture, each against a floor measured in the same run.

    python -m benchmarks.capture [--sessions FOLDER] [--transcripts FOLDER] [--rounds N] [--megabytes N]

The hook's floor is a Python that does nothing; that of the chain and of the transcripts is `json.loads` over
the same lines. The table is for people; the last line is one JSON object.
"""

import argparse
import json
import tempfile
from pathlib import Path

import polars as pl

from agent_evo_dagster.capture.importer import import_sessions
from benchmarks.capture_chain import KINDS, chain_in_a_process, chain_times, repeat, taken_for_secrets
from benchmarks.capture_hook import hook_times
from benchmarks.capture_sensor import tick_times
from benchmarks.capture_transcripts import transcript_times

ROOT = Path(__file__).parents[1]


def measure(
    sessions: Path, transcripts: Path | None, folder: Path, *, rounds: int, megabytes: int
) -> dict[str, float]:
    """All figures by name."""
    figures = {f"hook_{name}_ms": value for name, value in hook_times(folder / "hook", rounds).items()}
    for size in ("1kB", "100kB"):
        figures[f"hook_{size}_x_bare"] = figures[f"hook_{size}_ms"] / figures["hook_bare_ms"]
    spool = folder / "spool"
    import_sessions(sessions, spool)
    figures |= chain_times(spool, min(rounds, 9))
    for kind in KINDS:
        stages = [figures[f"{stage}{kind}_ms"] for stage in ("read", "trajectories", "segments")]
        figures[f"chain{kind}_ms"] = sum(stages)
        for name in ("read", "chain"):
            figures[f"{name}_x_json{kind}"] = figures[f"{name}{kind}_ms"] / figures[f"json{kind}_ms"]
    figures |= taken_for_secrets(spool)
    if transcripts is not None:
        figures |= transcript_times(transcripts, folder / "transcripts", rounds)
    figures |= tick_times(folder / "ticks")
    if megabytes:
        once = chain_in_a_process(spool)
        repeat(spool, folder / "large", megabytes << 20)
        large = chain_in_a_process(folder / "large")
        figures |= {f"large_{name}": large[name] for name in ("s", "cpu_s", "peak_mb")}
        figures["large_mb"] = large["bytes"] / 1e6
        for time in ("s", "cpu_s"):
            growth = large[time] / large["bytes"] / (once[time] / once["bytes"])
            figures[f"large_{time}_per_byte_x_small"] = growth
    return {name: round(value, 3) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=Path, default=ROOT / "samples")
    parser.add_argument("--transcripts", type=Path, help="recordings with transcripts of the client")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--megabytes", type=int, default=0, help="of repeated sessions, for memory; 0: none")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(
            asked.sessions, asked.transcripts, Path(folder), rounds=asked.rounds, megabytes=asked.megabytes
        )
    figures["polars_threads"] = pl.thread_pool_size()
    for name, value in figures.items():
        print(f"{name:<32}{value:>12,.3f}")
    print(json.dumps({"benchmark": "capture", **figures}))


if __name__ == "__main__":
    main()
