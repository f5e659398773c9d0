"""Tables on a terminal: aligned where their words have room, else each row line by line. No content."""

from collections.abc import Collection, Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

_FOLDED: Final = 12  # characters that a column whose words may be broken has at least
_FRAME: Final = 3  # characters around each cell

Rows = Sequence[Sequence[str | Text]]


def show_rows(console: Console, names: Sequence[str], rows: Rows, *, folded: Collection[str] = ()) -> None:
    """Print rows under the names of their columns; only words of the `folded` columns are ever broken.

    No cell is cut: ids are typed again. A word in brackets is one: what is to be styled is a Text.
    """
    if not rows:
        return
    cells = [
        [name, *map(_plain, column)] for name, column in zip(names, zip(*rows, strict=True), strict=True)
    ]
    words = [max(cell_len(word) for cell in column for word in [*cell.split(), ""]) for column in cells]
    least = [min(word, _FOLDED) if name in folded else word for name, word in zip(names, words, strict=True)]
    spare = console.width - sum(least) - _FRAME * len(names) - 1
    if spare < 0:
        _show_lines(console, names, rows)
        return
    most = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in cells]
    widths = _shared(least, most, spare)
    table = Table(
        *(Column(Text(name), overflow="fold", width=width) for name, width in zip(names, widths, strict=True))
    )
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    console.print(table)


def _shared(least: Sequence[int], most: Sequence[int], spare: int) -> list[int]:
    """What columns get of the width that is left, those first that want little more."""
    widths, left = list(least), spare
    wanting = sorted(range(len(least)), key=lambda place: most[place] - least[place])
    for number, place in enumerate(wanting):
        more = max(0, min(most[place] - least[place], left // (len(wanting) - number)))
        widths[place] += more
        left -= more
    return widths


def _show_lines(console: Console, names: Sequence[str], rows: Rows) -> None:
    """Each cell beside its name, wrapped by the terminal alone, so that a copy of it is whole."""
    margin = max(map(cell_len, names))
    for row in rows:
        for name, cell in zip(names, row, strict=True):
            if _plain(cell):
                console.print(Text.assemble((f"{name:<{margin}}  ", "bold"), cell), soft_wrap=True)
        console.print()


def _plain(cell: str | Text) -> str:
    return cell.plain if isinstance(cell, Text) else cell
