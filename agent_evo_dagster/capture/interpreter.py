"""The real Python behind a name: what a shim or a virtual environment leads to. Not what it runs."""

import subprocess
from pathlib import Path
from typing import Final

from agent_evo_dagster.errors import CaptureError

_ASK: Final = "import os, sys; print(os.path.realpath(sys.executable)); print(*sys.version_info[:2])"
_OLDEST: Final = (3, 9)
_SECONDS: Final = 30


def real_interpreter(python: Path) -> Path:
    """The absolute path of the binary that `python` starts.

    A version manager's shim is a script that looks for the right version at each start, which costs an event
    about 100 ms; the binary that it finds costs nothing.

    Raises:
        CaptureError: it does not start, or is too old for the hook.
    """
    try:
        asked = subprocess.run(
            [str(python), "-I", "-S", "-c", _ASK],
            check=True,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        path, version = asked.stdout.splitlines()
        major, minor = map(int, version.split())
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise CaptureError(
            f"The hook was to be run by {python}, which does not start as Python ({error}). "
            "Name another: agent-evo hooks install --python PATH"
        ) from error
    if (major, minor) < _OLDEST:
        raise CaptureError(
            f"The hook was to be run by {python}, which is Python {major}.{minor}; it needs "
            f"{_OLDEST[0]}.{_OLDEST[1]} or later. Name another: agent-evo hooks install --python PATH"
        )
    return Path(path)
