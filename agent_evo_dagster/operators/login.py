"""The user's login, lent to one run of the client; what comes back is looked at before it is theirs.

What works there can write there, and the client can be killed while it writes. Only a login of the same form
that holds for longer than the user's own takes its place; nothing here can tell whose account it is of.
"""

import contextlib
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from agent_evo_dagster.files import write_atomic

CONFIG: Final = "CLAUDE_CONFIG_DIR"
LOGIN: Final = ".credentials.json"
_EXPIRY: Final = "expiresAt"  # milliseconds since 1970
_LONGEST: Final = (
    2 * 365 * 24 * 3600 * 1000
)  # milliseconds from now; beside a later end no renewal ever counts
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
        # The run was paid and its answer is there: it is not lost over a login that cannot be written or has
        # been taken away. The user's own stays, and the client asks for a new one where that is over.
        with contextlib.suppress(OSError):
            _give_back(own, _left(here))


def _give_back(own: Path, new: bytes | None) -> None:
    if new is None or not own.is_file():
        return
    with _alone(own.parent):
        if renews(own.read_bytes(), new):
            write_atomic(own.resolve(), new, mode=0o600)


def renews(old: bytes, new: bytes) -> bool:
    """Whether `new` is a whole login with all that `old` has: no part ends earlier, and one later."""
    before, after = _parsed(old), _parsed(new)
    if not before or not after or not _holds(before, after):
        return False
    ends, latest = _ends(after), time.time() * 1000 + _LONGEST
    told = [(end, ends.get(place, 0)) for place, end in _ends(before).items()]
    no_worse = all(was <= now for was, now in told) and all(end <= latest for end in ends.values())
    return no_worse and any(was < now for was, now in told)


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
    """Whether `new` has a value of the same kind wherever `old` has one."""
    return all(_replaces(value, new.get(name)) for name, value in old.items() if value)


def _replaces(old: object, new: object) -> bool:
    if _kind(old) is not _kind(new) or not new:
        return False
    if isinstance(old, dict) and isinstance(new, dict):
        return _holds(old, new)
    if isinstance(old, list) and isinstance(new, list):
        return {*map(_kind, new)} <= {*map(_kind, old)}
    return bool(new.strip()) if isinstance(new, str) else True


def _kind(value: object) -> type:
    return float if type(value) is int else type(value)


def _ends(login: Mapping[str, object]) -> dict[tuple[str, ...], float]:
    """When each part of it ends, by its place; without recursion, for it may be as deep as it is long."""
    found: dict[tuple[str, ...], float] = {}
    more: list[tuple[tuple[str, ...], Mapping[str, object]]] = [((), login)]
    while more:
        place, part = more.pop()
        end = part.get(_EXPIRY)
        if isinstance(end, int | float) and not isinstance(end, bool):
            found[place] = end
        more += [((*place, name), value) for name, value in part.items() if isinstance(value, dict)]
    return found
