"""Names of people: which are the same to an eye, and which mix scripts as no name does. Nobody is known here.

After Unicode TS 39: a name is of one script, or of Latin with the scripts of East Asia, its restriction level
"highly restrictive"; and names are compared by what its table of confusable characters makes of them. Marks,
spaces and punctuation count not. Where that is too strict, two people are taken for one: who is refused gives
a fuller name. Characters that the table does not have, and those of East Asia, are compared as they are.
"""

import unicodedata
from functools import cache
from typing import Final

_TOGETHER: Final = (
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA"},
    {"LATIN", "CJK", "BOPOMOFO"},
    {"LATIN", "CJK", "HANGUL"},
)
_COMMON: Final = frozenset({"MODIFIER", "KATAKANA-HIRAGANA", "IDEOGRAPHIC", "FEMININE", "MASCULINE"})
# What the table does not join across the cases, and what it leaves to fonts: i, l, 1 and |; o and 0.
_LIKE: Final = str.maketrans("i1|0", "lllo")


def same_person(name: str) -> str:
    """What all ways to write one person's name have in common: letters and digits as an eye takes them."""
    shown = unicodedata.normalize("NFKD", "".join(map(_shown, name))).casefold()
    letters = (one for one in shown if one == "|" or (one.isalnum() and unicodedata.category(one) != "Lm"))
    return "".join(map(_shown, letters)).translate(_LIKE).replace("rn", "m").replace("vv", "w")


@cache
def _shown(letter: str) -> str:
    """The Latin letter or digit that one looks like in either case; itself where there is none."""
    from confusable_homoglyphs.confusables import confusables_data

    if letter.isascii():
        return letter
    alike = (
        each["c"]
        for form in (letter, letter.upper(), letter.lower())
        for each in confusables_data.get(form, ())
    )
    plain = [one.lower() for one in alike if len(one) == 1 and one.isascii() and one.isalnum()]
    return min(plain, default=letter)


def mixed_scripts(name: str) -> tuple[str, ...]:
    """The scripts of a name that mixes what is not written together; nothing for any other name."""
    letters = filter(str.isalpha, unicodedata.normalize("NFKC", name))
    scripts = {unicodedata.name(letter, "unnamed").split()[0] for letter in letters} - _COMMON
    allowed = len(scripts) < 2 or any(scripts <= together for together in _TOGETHER)
    return () if allowed else tuple(sorted(script.title() for script in scripts))
