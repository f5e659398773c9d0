"""Names of people: which are the same to an eye, and which mix scripts as no name does. Nobody is known here.

After Unicode TS 39: a name is of one script, or of Latin with the scripts of East Asia, its restriction level
"highly restrictive"; and what its table of confusables shows as a Latin letter counts as that letter.
"""

import unicodedata
from typing import Final

# Cyrillic and Greek letters that look like Latin ones, small or capital: names are compared without case.
_LOOKS_LIKE: Final = str.maketrans(
    "авекмнорстухѕіјԛԝһӏѵ" + "αβεζηικμνορτυχ",
    "abekmhopctyxsijqwhlv" + "abezhikmnoptyx",
)
_TOGETHER: Final = (
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA"},
    {"LATIN", "CJK", "BOPOMOFO"},
    {"LATIN", "CJK", "HANGUL"},
)
_COMMON: Final = frozenset({"MODIFIER", "KATAKANA-HIRAGANA", "IDEOGRAPHIC", "FEMININE", "MASCULINE"})


def same_person(name: str) -> str:
    """What all ways to write one person's name have in common, however the letters are coded."""
    plain = " ".join(unicodedata.normalize("NFKC", name).split()).casefold()
    return plain.translate(_LOOKS_LIKE)


def mixed_scripts(name: str) -> tuple[str, ...]:
    """The scripts of a name that mixes what is not written together; nothing for any other name."""
    letters = filter(str.isalpha, unicodedata.normalize("NFKC", name))
    scripts = {unicodedata.name(letter, "unnamed").split()[0] for letter in letters} - _COMMON
    allowed = len(scripts) < 2 or any(scripts <= together for together in _TOGETHER)
    return () if allowed else tuple(sorted(script.title() for script in scripts))
