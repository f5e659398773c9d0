"""Redaction: secrets become typed placeholders before they leave the spool. Not what a secret looks like.

A placeholder is `<redacted:kind:xxxxxxxx>`; its last part is a keyed hash, so that one secret has one
placeholder and nobody without the key can test a guess. Redacting twice changes nothing.
"""

import contextlib
import hmac
import os
import re
import secrets
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from agent_evo_dagster.capture.personal_rules import PERSONAL_RULES
from agent_evo_dagster.capture.secret_rules import RULES, SECRET_FIELD, Rule
from agent_evo_dagster.errors import CaptureError

KEY_FILE = "redaction.key"
KEY_BYTES = 32

_NAME_KEY = b"names"  # tells two names of files apart; the key of a home is not known where they are listed
_MARK = "<redacted:"
_SHORTEST = 8  # no rule matches less
_KINDS = sorted({"password", *PERSONAL_RULES, *(rule.kind for rule in RULES)})
_PLACEHOLDER = re.compile(rf"{_MARK}(?:{'|'.join(_KINDS)}):[0-9a-f]{{8}}>")
_LEAST = 4  # letters and digits beside a placeholder that may be a secret
_MARK_REACH = 50  # no placeholder is longer
# Values that stand where a secret would, and are none.
_PLACEHOLDERS = frozenset(
    {"empty", "none", "null", "true", "false", "dummy", "changeme", "string", "required"}
)
_VARIABLE = re.compile(r"[A-Z]+(?:_[A-Z]+)+")
# A URL has its password as it is: a dollar sign or a name in capitals may begin one, or be one.
_NONE_IN_URL = re.compile(r"\$[A-Z_][A-Z0-9_]*|\$\{\w+\}|\$\(\w+\)|\*+")


class RedactionKey(bytes):
    """The key of a home, and the personal data that its owner wants gone besides all secrets."""

    personal: tuple[str, ...] = ()


def rules_of(key: bytes) -> tuple[Rule, ...]:
    """The rules that hold where this key is used."""
    personal = key.personal if isinstance(key, RedactionKey) else ()
    return (*RULES, *(PERSONAL_RULES[kind] for kind in personal))


def placeholder(secret: str, kind: str, key: bytes) -> str:
    """What stands for `secret` from now on."""
    return f"{_MARK}{kind}:{hmac.digest(key, secret.encode('utf-8', 'surrogatepass'), 'sha256').hex()[:8]}>"


def redact_text(text: str, key: bytes, rules: Sequence[Rule] | None = None) -> str:
    """`text` with every secret in it replaced; the same object if there is none.

    `rules` are those that the text may call for; all that hold for the key where absent.
    """
    if len(text) < _SHORTEST:
        return text
    lowered, redacted = text.lower(), text
    for rule in rules_of(key) if rules is None else rules:
        if any(cue in lowered for cue in rule.cues):
            redacted = rule.exact.sub(partial(_replace, kind=rule.kind, key=key), redacted)
    return text if redacted == text else redacted


def shown_name(name: str) -> str:
    """A file's name as it may be shown; the same object if there is no secret in it."""
    return redact_text(name, _NAME_KEY)


def holds_secret(name: str) -> bool:
    """Whether a file's name holds a secret."""
    return shown_name(name) is not name


def redact_value(value: object, key: bytes, rules: Sequence[Rule] | None = None) -> object:
    """A JSON value without the secrets in its strings and names; the same object if there is none."""
    rules = rules_of(key) if rules is None else rules
    if isinstance(value, str):
        return redact_text(value, key, rules)
    if isinstance(value, list):
        items = [redact_value(item, key, rules) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if isinstance(value, dict):
        pairs = [
            (redact_text(name, key, rules), _redact_field(name, item, key, rules))
            for name, item in value.items()
        ]
        same = all(name == old and new is value[old] for (name, new), old in zip(pairs, value, strict=True))
        return value if same else dict(pairs)
    return value


def _replace(match: re.Match[str], *, kind: str, key: bytes) -> str:
    group = match.lastgroup or 0
    secret = match[group]
    if _is_none(secret, kind) or _in_placeholder(match.string, match.start(group)):
        return match[0]
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return f"{match[0][:start]}{placeholder(secret, kind, key)}{match[0][end:]}"


def _redact_field(name: str, value: object, key: bytes, rules: Sequence[Rule]) -> object:
    """The value of a JSON field, as a whole where the field's name says that it is a secret."""
    redacted = redact_value(value, key, rules)
    if not isinstance(redacted, str) or len(redacted) < 4 or _is_none(redacted, "password"):
        return redacted
    return placeholder(redacted, "password", key) if SECRET_FIELD.fullmatch(name) else redacted


def _in_placeholder(text: str, position: int) -> bool:
    """Whether a placeholder that an earlier rule or run has put there reaches over this position.

    A mark alone does not count: whoever writes the text can write it too.
    """
    near = _PLACEHOLDER.finditer(text, max(0, position - _MARK_REACH), position + _MARK_REACH)
    return any(found.start() < position < found.end() for found in near)


def _is_none(secret: str, kind: str) -> bool:
    """Whether this is a placeholder, of ours or of the text's author, or a variable's name."""
    if _MARK in secret:
        rest, ours = _PLACEHOLDER.subn("", secret)
        return ours > 0 and sum(map(str.isalnum, rest)) < _LEAST
    if secret.lower() in _PLACEHOLDERS:
        return True
    if kind == "url_password":
        return _NONE_IN_URL.fullmatch(secret) is not None
    return secret.startswith(("<", "$", "*")) or _VARIABLE.fullmatch(secret) is not None


def load_key(home: Path, *, personal: Sequence[str] = ()) -> RedactionKey:
    """The key of `home`, made on the first call, so that one secret has one placeholder in all rounds.

    Where it is used, `personal` data goes as secrets do.

    Raises:
        CaptureError: the key file cannot be used, or there is no such kind of personal data.
    """
    if unknown := set(personal) - PERSONAL_RULES.keys():
        raise CaptureError(
            f"Redaction of {', '.join(sorted(unknown))} was asked for; what can go besides secrets is "
            f"{', '.join(PERSONAL_RULES)}. Set AGENT_EVO_REDACT to some of these."
        )
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
    loaded = RedactionKey(key)
    loaded.personal = tuple(personal)
    return loaded


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
