"""What people are told on a terminal: errors of the library, and text of strangers that drives nothing."""

import os
import sys
import unicodedata
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.text import Text

from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.patches.hidden import visible

_UNBROKEN: Final = 100_000  # characters of a line that is written to a file


def told_to_people(name: str, app: Callable[[], object]) -> None:
    """Run `app`; an error of the library is one message on stderr and exit code 1."""
    try:
        app()
    except AgentEvoError as error:
        message = str(error)
    except OSError as error:  # a full disk, a read-only home: the person's to mend, not a fault of the code
        message = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
    else:
        return
    told = visible(f"{name}: {message}")  # names and values of files stand in it: none drives a terminal
    Console(stderr=True, soft_wrap=True).print(told, markup=False, highlight=False)
    sys.exit(1)


def screen() -> Console:
    """Standard output as wide as its terminal; where it is a file or a pipe, whose lines others read, no
    line of it is broken unless COLUMNS says where.
    """
    console = Console()
    return console if console.is_terminal or os.environ.get("COLUMNS") else Console(width=_UNBROKEN)


def plain(text: str) -> Text:
    """`text` as it is, with what would drive the terminal made visible, and no markup."""
    shown = (
        character
        if character in "\n\t" or unicodedata.category(character)[0] != "C"
        else f"\\x{ord(character):02x}"
        for character in text
    )
    return Text("".join(shown))
