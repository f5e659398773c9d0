"""What it costs to read the client's transcripts, redacted and with their usage."""

import json
from collections.abc import Callable
from pathlib import Path

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.capture.sources.transcripts import FOLDER, Transcripts
from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.files import sha256_file
from benchmarks.capture_chain import KEY, KINDS, best_times


def transcript_times(recordings: Path, spool: Path, rounds: int) -> dict[str, float]:
    """Best milliseconds of the reader and of its floor, `json.loads` over the same lines."""
    import_sessions(recordings, spool)
    files = sorted((spool / FOLDER).rglob("*.jsonl"))
    slices = [
        FileSlice(path.relative_to(spool).as_posix(), 0, path.stat().st_size, sha256_file(path), ())
        for path in files
    ]
    lines = [line for path in files for line in path.read_bytes().split(b"\n") if line]
    actions: dict[str, Callable[[], object]] = {
        "json": lambda: [json.loads(line) for line in lines],
        "read": lambda: Transcripts().read(spool, slices, key=KEY),
    }
    best = best_times(actions, rounds)
    ratios = {f"transcripts_x_json{kind}": best[f"read{kind}_ms"] / best[f"json{kind}_ms"] for kind in KINDS}
    return {"transcript_lines": len(lines)} | {f"transcripts_{name}": best[name] for name in best} | ratios
