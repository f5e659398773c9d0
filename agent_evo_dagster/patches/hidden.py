"""Characters that a reader of a skill cannot see, found and made visible. Nothing is repaired here."""

import re
import unicodedata

# Controls but tab and line feed, a carriage return that ends no line, soft hyphen, fillers that print as
# nothing, zero-width and bidirectional marks, line separators, private use, surrogates, variation selectors
# (one after a character chooses an emoji's looks; more carry data), tags and the selectors beyond.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0d"
    "\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
    "|\r(?!\n)|(?:(?<=[\ufe0e\ufe0f])|(?<=[\n ])|^)[\ufe0e\ufe0f]"
)


def first_hidden(text: str) -> str | None:
    """Where the first hidden character is, in words a person can act on; None where all is visible."""
    found = _HIDDEN.search(text)
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    column = found.start() - (text.rfind("\n", 0, found.start()) + 1) + 1
    character = found.group()
    name = unicodedata.name(character, "no name")
    return f"line {line}, column {column}: U+{ord(character):04X} ({name})"


def visible(text: str) -> str:
    """The text with every hidden character written as its code point, for terminals and diffs."""
    return _HIDDEN.sub(lambda found: f"<U+{ord(found.group()):04X}>", text)
