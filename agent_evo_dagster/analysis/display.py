"""Hostile text made fit to show: hidden characters become visible. Escaping is each writer's own."""

import unicodedata

_KEPT = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """The text with control, format and unassigned characters written as their code points.

    Right-to-left overrides and zero-width characters could make a page say what its text does not.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char in _KEPT or unicodedata.category(char) not in _HIDDEN:
        return char
    return f"[U+{ord(char):04X}]"


def one_line(text: str) -> str:
    """The visible text with every run of white space made one space."""
    return " ".join(visible(text).split())
