"""File names for session ids, by the rule that the hook script follows too. No paths are made here."""

import hashlib
import json
import re

NO_SESSION = "_no-session"

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


def safe_name(session_id: object) -> str:
    """A file name for any session id: itself where it is safe, else a hash that begins with an underscore."""
    if session_id is None:
        return NO_SESSION
    if isinstance(session_id, str) and _SAFE.fullmatch(session_id):
        return session_id
    return "_id-" + hashlib.sha256(json.dumps(session_id, sort_keys=True).encode()).hexdigest()[:32]
