"""The end of a log, as a message shows it."""

import os
from pathlib import Path

TAIL_LINES = 30
TAIL_BYTES = 32_768


def tail_of(log: Path) -> str:
    """The last lines of `log`, indented; empty where it has none."""
    with log.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - TAIL_BYTES))
        lines = stream.read().decode(errors="replace").splitlines()
    return "\n".join(f"  | {line}" for line in lines[-TAIL_LINES:])
