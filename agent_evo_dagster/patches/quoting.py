"""Words of sessions made fit to stand in a skill as data: short, plain, without links, markup or commands.

Session text is hostile: whoever wrote a tool's output could try to write a skill with it. What is quoted
keeps letters, digits and a few signs; whatever else it held is lost. Whether the words are true is for the
reader.
"""

import re
import unicodedata

_KEPT = frozenset(" ._/=+,-%'():")
_PLACEHOLDER = re.compile(r"<(uuid|url|path|hash|n)>")
_LINK = re.compile(r"\S*(?:[a-z][a-z0-9+.-]*:/|\bwww\.|\b(?:mailto|javascript|data|file|vbscript):)\S*", re.I)
_ELLIPSIS = "..."
_MAX_READ = 4  # times the limit that is looked at


def quoted_words(text: str, limit: int = 100) -> str:
    """At most `limit` characters of `text` in double quotes, on one line, as plain words."""
    named = _PLACEHOLDER.sub(lambda found: found[1].upper(), text[: _MAX_READ * limit])
    plain = "".join(char if _is_plain(char) else " " for char in unicodedata.normalize("NFKC", named))
    words = " ".join(_LINK.sub("(link)", " ".join(plain.split())).split()).strip(" -:,")
    cut = words if len(words) <= limit else f"{words[: limit - len(_ELLIPSIS)].rstrip()}{_ELLIPSIS}"
    return f'"{cut}"'


def _is_plain(char: str) -> bool:
    return char in _KEPT or (char.isalnum() and unicodedata.category(char)[0] in "LN")
