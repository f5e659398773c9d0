"""The event files of a spool by name, and which names may be stored. Not what the files hold."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from agent_evo_dagster.capture.redact import redact_text
from agent_evo_dagster.capture.secret_rules import RULES

HOOKS = "hooks"
LEGACY = "legacy"

_NAME_KEY = b"names"  # tells two names of files apart; the key of a home is not known where they are listed


def event_names(spool: Path) -> list[str]:
    """Names relative to the spool: those of the hooks, then those of the older layout, each in order.

    No paths are made of them, which for thousands of files costs more than to look at each file.
    """
    names = [f"{HOOKS}/{name}" for name in sorted(listed(spool / HOOKS)) if name.endswith(".jsonl")]
    older = (f"{LEGACY}/{name}/events.jsonl" for name in sorted(listed(spool / LEGACY)))
    return names + [name for name in older if Path(spool, name).exists()]


def listed(folder: Path | str) -> list[str]:
    """The names in a folder; none where it is missing."""
    return os.listdir(folder) if os.path.isdir(folder) else []  # noqa: PTH112, PTH208 names, not paths


def storable(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The names that may be stored, and the others, as they may be shown, with the reason.

    What is read has its name in all that is stored of it, so that no name may hold a secret.
    """
    left: dict[str, str] = {}
    bad = set()
    for name in _suspects(names):
        shown = redact_text(name, _NAME_KEY)
        if shown is not name:
            left[shown] = "its name holds a secret: give the file another"
        elif not _is_text(name):
            left[ascii(name)] = "its name is not UTF-8: give the file another"
        else:
            continue
        bad.add(name)
    return [name for name in names if name not in bad] if bad else list(names), left


def is_storable(name: str) -> bool:
    """Whether what is stored of a file may have its name."""
    return not storable([name])[1]


def _suspects(names: Sequence[str]) -> Iterator[str]:
    """The names that are worth a look: to look closely at ten thousand costs a sensor too much."""
    plain = [name for name in names if name.isascii()]
    cues = [cue for rule in RULES for cue in rule.cues]
    called = pl.Series(plain, dtype=pl.String).str.contains_any(cues, ascii_case_insensitive=True)
    yield from (plain[place] for place in called.arg_true())
    yield from (name for name in names if not name.isascii())


def _is_text(name: str) -> bool:
    """Whether the bytes of a name are UTF-8; Python has surrogates for those that are not."""
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False
