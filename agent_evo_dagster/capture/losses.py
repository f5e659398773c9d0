"""Events that the hook could not put where they belong: how many. Not why."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.capture.spool_names import HOOKS

LOST = "_lost"
FALLBACK = "_fallback.jsonl"


@dataclass(frozen=True, slots=True)
class Losses:
    """Counts of a spool."""

    lost: int  # kept nowhere
    fallback: int  # lines in the fallback file: read like any other, late


def losses(spool: Path) -> Losses:
    """Count what a spool's hook could not store; losses counted outside of the spool are of all spools."""
    outside = Path(tempfile.gettempdir()) / f"agent-evo-lost-{os.getuid()}"
    lost = sum(_bytes(path).count(b".") for path in (spool / HOOKS / LOST, outside))
    lines = _bytes(spool / HOOKS / FALLBACK).split(b"\n")
    return Losses(lost, sum(1 for line in lines if line.strip()))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
