"""Writing many files of a bank all or nothing, across a kill at any time. Knows no skill and no patch.

The journal is written first, whole and in one step: from then on the writes are decided, and whoever opens
the bank next carries them out. Before that, nothing has changed. A line for the record of decisions may go
with them; it is appended once.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import locked, sha256_bytes, write_atomic
from agent_evo_dagster.patches.chain import append_once
from agent_evo_dagster.skills.outputs import contained

JOURNAL = ".journal.json"
LOCK = ".lock"


class Write(BaseModel):
    """One file to write: relative to the bank, or to the project folder that holds it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: Literal["bank", "project"]
    path: str
    text: str
    before: str | None  # SHA-256 of what the file held when this was decided; None: there was none


class RecordLine(BaseModel):
    """One line to append to a chained file of the bank."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    payload: dict[str, JsonValue]


class _Journal(BaseModel):
    """All writes of one decision."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    writes: tuple[Write, ...]
    line: RecordLine | None = None


def needed(bank: Path, root: Literal["bank", "project"], path: str, text: str) -> Write | None:
    """The write that gives `path` this text; None where it has it already."""
    target = _target(bank, root, path)
    held = target.read_bytes() if target.is_file() else None
    if held == text.encode():
        return None
    return Write(root=root, path=path, text=text, before=None if held is None else sha256_bytes(held))


def commit(bank: Path, writes: Sequence[Write], *, line: RecordLine | None = None) -> tuple[Path, ...]:
    """Carry out all `writes`, then append `line`; the caller holds the bank's lock. Returns files written."""
    if not writes and line is None:
        return ()
    journal = _Journal(writes=tuple(writes), line=line)
    _sweep(bank / JOURNAL)
    write_atomic(bank / JOURNAL, journal.model_dump_json(indent=1).encode())
    return _carry_out(bank, journal)


def roll_forward(bank: Path) -> tuple[Path, ...]:
    """Finish what a killed process had decided; the caller holds the bank's lock.

    Raises:
        SkillBankError: the journal is damaged, or a file was edited since.
    """
    path = bank / JOURNAL
    if not path.exists():
        return ()
    try:
        journal = _Journal.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise SkillBankError(
            f"{path} is not a journal that this version can read; restore the bank from git, then delete it."
        ) from error
    return _carry_out(bank, journal)


def recover(bank: Path) -> None:
    """Finish an interrupted write, if there is one; takes the lock."""
    if (bank / JOURNAL).exists():
        with locked(bank / LOCK):
            roll_forward(bank)


def _carry_out(bank: Path, journal: _Journal) -> tuple[Path, ...]:
    """Write every file that does not have its text yet, then forget the journal."""
    written = []
    for write in journal.writes:
        target = _target(bank, write.root, write.path)
        held = target.read_bytes() if target.is_file() else None
        data = write.text.encode()
        if held == data:
            continue
        if write.root == "bank" and (None if held is None else sha256_bytes(held)) != write.before:
            raise SkillBankError(
                f"{target} was edited while an interrupted write was waiting in {bank / JOURNAL}. "
                f"Move the edit aside and open the bank again, or delete the journal to drop that write."
            )
        _sweep(target)
        write_atomic(target, data)
        written.append(target)
    if journal.line is not None:
        append_once(contained(bank, journal.line.path), journal.line.payload)
    (bank / JOURNAL).unlink()
    return tuple(written)


def _target(bank: Path, root: Literal["bank", "project"], path: str) -> Path:
    """The absolute path of a write."""
    if root == "bank":
        return contained(bank, path)
    return contained(bank.parent, path, outside=bank)


def _sweep(target: Path) -> None:
    """Remove what a kill in the middle of writing `target` left beside it."""
    if target.parent.is_dir():
        for leftover in target.parent.glob(f".{target.name}.*"):
            leftover.unlink()
