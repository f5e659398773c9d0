"""The secret key of redaction: made once for a home, kept beside what it protects. No redaction here."""

import contextlib
import os
import secrets
from pathlib import Path

from agent_evo_dagster.errors import CaptureError

KEY_FILE = "redaction.key"
KEY_BYTES = 32


def load_key(home: Path) -> bytes:
    """The key of `home`, made on the first call, so that one secret has one placeholder in all rounds.

    Raises:
        CaptureError: the key file cannot be used.
    """
    path = home / KEY_FILE
    with contextlib.suppress(FileExistsError):
        if not path.exists():
            _create(path)
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise CaptureError(
            f"{path} should hold a redaction key of {KEY_BYTES} bytes and holds {len(key)}. "
            "Restore it from a backup, or delete it: secrets then get new placeholders from then on."
        )
    return key


def _create(path: Path) -> None:
    """Make the key visible in one step: of two processes, one wins and both read the same key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        os.link(draft, path)
    finally:
        draft.unlink()
