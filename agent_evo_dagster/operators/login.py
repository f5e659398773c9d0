"""The user's login, lent to one run of the client; what comes back is looked at before it is theirs.

What works there can write there, and the client can be killed while it writes. Only a login of the same form
that holds for longer than the user's own takes its place; nothing here can tell whose account it is of.
"""

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from agent_evo_dagster.files import write_atomic

CONFIG: Final = "CLAUDE_CONFIG_DIR"
LOGIN: Final = ".credentials.json"
_EXPIRY: Final = "expiresAt"  # milliseconds since 1970
_MOST: Final = 64 * 1024  # bytes


@contextlib.contextmanager
def lent(config: Path) -> Iterator[None]:
    """The user's login in `config`, where it is a file; a newer one that the client put there goes back.

    Of two runs that end at once, the login that holds longer is left.
    """
    own = Path(os.environ.get(CONFIG) or Path.home() / ".claude").expanduser() / LOGIN
    here = config / LOGIN
    if own.is_file():
        here.symlink_to(own.resolve())
    try:
        yield
    finally:
        new = _left(here)
        if new is not None and own.is_file():
            with _alone(own.parent):
                if renews(own.read_bytes(), new):
                    write_atomic(own.resolve(), new, mode=0o600)


def renews(old: bytes, new: bytes) -> bool:
    """Whether `new` is a whole login that has all that `old` has, and expires later."""
    before, after = _parsed(old), _parsed(new)
    if not before or not after or not _holds(before, after):
        return False
    return _expiry(after) > _expiry(before)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder of the user's, with no file of ours in it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _left(path: Path) -> bytes | None:
    """What the client put there itself: no link, device or pipe, and nothing long."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as stream:
            held = stream.read(_MOST + 1)
    except OSError:
        return None
    return held if len(held) <= _MOST else None


def _parsed(text: bytes) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _holds(old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    for name, value in old.items():
        given = new.get(name)
        if value and not given:
            return False
        if isinstance(value, dict) and not (isinstance(given, dict) and _holds(value, given)):
            return False
        if isinstance(value, str) and not isinstance(given, str):
            return False
    return True


def _expiry(login: Mapping[str, object]) -> float:
    """The earliest end of what it holds; 0 where none is told."""
    told = [login.get(_EXPIRY), *(one.get(_EXPIRY) for one in login.values() if isinstance(one, dict))]
    ends = [float(end) for end in told if isinstance(end, int) and 0 < end < 1e15]
    return min(ends, default=0.0)
