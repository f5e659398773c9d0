"""The names of rounds: `round-0001`, `round-0002`, ... Numbers order them, not text."""

import re

from agent_evo_dagster.errors import RoundError

_KEY = re.compile(r"round-(\d{4,9})")


def round_key(number: int) -> str:
    """The key of the round with this number.

    Raises:
        RoundError: the number is not in 1..999999999.
    """
    if not 1 <= number <= 999_999_999:
        raise RoundError(f"Round number {number} asked for; numbers run from 1 to 999999999.")
    return f"round-{number:04d}"


def is_round_key(name: str) -> bool:
    """Whether `name` is a round key; a folder beside the rounds may have any other name."""
    match = _KEY.fullmatch(name)
    return match is not None and int(match[1]) > 0 and round_key(int(match[1])) == name


def round_number(key: str) -> int:
    """The number in `key`, the only thing that rounds are ordered by.

    Raises:
        RoundError: not a round key; the message has the rule.
    """
    match = _KEY.fullmatch(key)
    if not match or round_key(int(match[1])) != key:
        shown = key if len(key) <= 60 else f"{key[:60]}... ({len(key)} characters)"
        raise RoundError(
            f"{shown!r} is not a round key. A key is 'round-' and a number of at least four digits, "
            "such as round-0001. Make one: agent-evo rounds open. See all: agent-evo rounds list."
        )
    return int(match[1])
