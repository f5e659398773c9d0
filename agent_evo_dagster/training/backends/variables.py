"""Environment variables that a deployment may hold. It is written beside every run, so no secret may be."""

import re
from collections.abc import Iterable

_SECRET = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|PRIVATE_KEY|ACCESS_KEY", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def require_plain(names: Iterable[str], *, instead: str) -> None:
    """Refuse names that look like secrets, or are no names; `instead` says what to do with a secret.

    Raises:
        ValueError: names the first of them.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a variable")
        if _SECRET.search(name):
            raise ValueError(
                f"{name} looks like a secret, which would be written into the run's folder: {instead}"
            )
