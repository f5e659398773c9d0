"""Answers as exact numbers. Text is read by a grammar and never evaluated."""

import re
from fractions import Fraction

MAX_LENGTH = 64
_NUMBER = re.compile(
    r"(?P<sign>[+-])?(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?P<part>\.[0-9]+)?"
    r"(?:/(?P<under>[0-9]+))?(?P<percent>%)?"
)


def parse_number(text: str) -> Fraction | None:
    """The number that `text` is, or None where it is not one number and nothing else.

    Reads thousands separators (`1,234`), decimals, percent (`50%` is 1/2) and fractions (`7/2`).
    """
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    match = _NUMBER.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        return None
    value = Fraction(match["whole"].replace(",", "") + (match["part"] or ""))
    if match["under"]:
        if int(match["under"]) == 0:
            return None
        value /= int(match["under"])
    if match["percent"]:
        value /= 100
    return -value if match["sign"] == "-" else value


def same_number(given: str | None, expected: str) -> bool:
    """Whether both are numbers, and the same one."""
    number = None if given is None else parse_number(given)
    return number is not None and number == parse_number(expected)


def format_number(value: Fraction) -> str:
    """Shortest text that `parse_number` reads back: an integer, or a fraction."""
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
