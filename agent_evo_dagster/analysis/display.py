"""Hostile text made fit to show: hidden characters become visible. Escaping is each writer's own."""

import unicodedata

_KEPT = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class _Shown(dict[int, str]):
    """What stands for each character, by its code point; filled as characters are met."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        hidden = char not in _KEPT and unicodedata.category(char) in _HIDDEN
        self[point] = f"[U+{point:04X}]" if hidden else char
        return self[point]


_SHOWN = _Shown()


def visible(text: str) -> str:
    """The text with control, format and unassigned characters written as their code points.

    Right-to-left overrides and zero-width characters could make a page say what its text does not.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


def one_line(text: str) -> str:
    """The visible text with every run of white space made one space."""
    return " ".join(visible(text).split())


def bounded(text: str, limit: int) -> str:
    """The visible text; where it is longer than `limit`, its beginning, its end, and how much is left out."""
    shown = visible(text).strip("\n")
    if len(shown) <= limit:
        return shown
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    left = f"[{len(shown) - limit:,} characters are left out here]"
    return f"{shown[:head]}\n{left}\n{shown[-tail:]}"
