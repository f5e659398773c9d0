"""What a round cost, a line for each who spent: work, tokens, money. Nothing is counted here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent_evo_dagster.analysis.text import number, plural
from agent_evo_dagster.analysis.views.page import Table

TOKENS, MONEY = "tokens", "US dollars"
UNITS = frozenset({TOKENS, MONEY})  # all others are work


@dataclass(frozen=True, slots=True)
class CostLine:
    """What one of those who spend in a round took; no token and no dollar stands in two lines.

    `amounts` are by unit, None where nobody told; without MONEY it is work of one's own machines, which has
    no price. Other units than TOKENS and MONEY are work, such as "rollout". The units `in_part` are told of
    a part of it alone, and their amounts are those of that part.
    """

    what: str
    amounts: Mapping[str, float | None]
    note: str = ""
    in_part: frozenset[str] = frozenset()


def cost_table(lines: Iterable[CostLine]) -> Table:
    """What each of them took."""
    rows = tuple(
        (
            one.what,
            _work(one),
            _amount(one, TOKENS),
            _amount(one, MONEY) if MONEY in one.amounts else "own machines",
            one.note,
        )
        for one in lines
    )
    columns = ("Who", "Work", "Tokens", "US dollars", "Note")
    return Table("Cost", columns, rows, frozenset({2, 3}), "No cost is known.")


def cost_columns(rounds: Sequence[Sequence[CostLine]]) -> tuple[tuple[str, str], ...]:
    """Who and unit, for each of which some round took something, or may have."""
    every = [one for lines in rounds for one in lines]
    named = [
        (one.what, unit)
        for one in every
        for unit, amount in one.amounts.items()
        if amount != 0 or unit in one.in_part
    ]
    return tuple(dict.fromkeys(named))


def cost_cell(lines: Iterable[CostLine], what: str, unit: str) -> str:
    """What one of them took of a unit in a round."""
    found = next((one for one in lines if one.what == what), None)
    return _amount(found, unit) if found is not None and unit in found.amounts else number(0)


def whole(lines: Sequence[CostLine]) -> tuple[str, ...]:
    """Tokens and money of all lines together, saying whether some of them are not told."""
    return tuple(_whole(lines, unit) for unit in (TOKENS, MONEY))


def _whole(lines: Sequence[CostLine], unit: str) -> str:
    told = [one.amounts[unit] for one in lines if unit in one.amounts]
    total = sum(amount for amount in told if amount is not None)
    unknown = sorted({one.what for one in lines if not _is_told(one, unit)})
    more = f" and more that is not told: {', '.join(unknown)}" if unknown else ""
    return f"{number(total, 4)} {unit}{more}"


def _is_told(line: CostLine, unit: str) -> bool:
    """Whether all that it took of a unit is known."""
    return unit not in line.amounts or (line.amounts[unit] is not None and unit not in line.in_part)


def _work(line: CostLine) -> str:
    done = {unit: amount for unit, amount in line.amounts.items() if unit not in UNITS and amount}
    return ", ".join(plural(int(amount), unit) for unit, amount in done.items()) or "none"


def _amount(line: CostLine, unit: str) -> str:
    amount = line.amounts.get(unit)
    if amount is None:
        return "not told"
    return number(amount, 4) + (" and more that is not told" if unit in line.in_part else "")
