"""Decisions that a reviewer writes into a file of the bank: `approvals/*.yaml`. Read here, not carried out.

Such a file is a proposal like any other until it lies in the bank: who may put it there is for the
repository's own reviews. It names who decides; reading it again changes nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.strict_yaml import load_mapping

FOLDER: Final = "approvals"
MAX_FILE: Final = 64_000  # bytes
MAX_FILES: Final = 1_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,119}\.ya?ml")
_ID = r"^p-[0-9a-f]{16}$"


class DecisionRequest(BaseModel):
    """What one person decides on some patches, each by its whole id."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    by: str = Field(description="Who decides.")
    reason: str = Field(description="Why, for whoever reads the record.")
    approve: list[str] = Field([], max_length=100)
    reject: list[str] = Field([], max_length=100)
    withdraw: list[str] = Field([], max_length=100)
    override: bool = Field(False, description="Approve against the gate, on record.")

    def named(self) -> list[tuple[str, str]]:
        """(word, patch id) of everything that it decides.

        Raises:
            DecisionError: nothing is named, a patch is named twice, or an id is none.
        """
        pairs = [
            (word, name)
            for word in ("approve", "reject", "withdraw")
            for name in dict.fromkeys(getattr(self, word))
        ]
        names = [name for _, name in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        wrong = [name for name in names if not re.fullmatch(_ID, name)]
        if not pairs or twice or wrong:
            found = (
                f"{twice} are in two lists" if twice else f"{wrong[:3]} are no ids" if wrong else "none is"
            )
            raise DecisionError(
                f"Patches to approve, reject or withdraw were expected, each by its whole id, in one "
                f"list; {found}. See them: agent-evo patches list"
            )
        return pairs


_EXPECTED = "Expected are by, reason, and lists of patch ids under approve, reject or withdraw."


@dataclass(frozen=True, slots=True)
class ApprovalFile:
    """One file: what it asks for, or what is wrong with it."""

    name: str
    request: DecisionRequest | None
    problem: str | None = None


def read_approvals(bank: Path) -> list[ApprovalFile]:
    """The approval files of a bank by name; one that cannot be read hides no other."""
    folder = bank / FOLDER
    if not folder.is_dir() or folder.is_symlink():
        return []
    names = sorted(path.name for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
    if len(names) > MAX_FILES:
        raise DecisionError(
            f"{folder} holds {len(names)} files; at most {MAX_FILES} are read. Remove those carried out: "
            f"the record keeps what they decided."
        )
    return list(_read(folder, names))


def _read(folder: Path, names: list[str]) -> Iterator[ApprovalFile]:
    for name in names:
        try:
            yield ApprovalFile(name, parse_approval(_text(folder / name)))
        except (DecisionError, OSError) as error:
            yield ApprovalFile(name, None, str(error))


def _text(path: Path) -> str:
    if not _NAME.fullmatch(path.name):
        raise DecisionError(
            "its name has other characters than letters, digits, '_', '.' and '-'; rename it."
        )
    if path.is_symlink() or not path.is_file():
        raise DecisionError("it is no regular file; put the decision itself there.")
    with path.open("rb") as stream:
        data = stream.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise DecisionError(f"it has more than {MAX_FILE} bytes; write several files.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DecisionError("it is not UTF-8; save it as UTF-8.") from error


def parse_approval(text: str) -> DecisionRequest:
    """The request that a file's text states.

    Raises:
        DecisionError: it is not YAML of the expected form.
    """
    try:
        document = load_mapping(text, origin="It is no decision", error=DecisionError)
        request = DecisionRequest.model_validate(document)
    except DecisionError as error:
        raise DecisionError(f"{error} {_EXPECTED}") from error
    except ValidationError as error:
        details = error.errors(include_url=False)[:5]
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in details)
        raise DecisionError(f"It is no decision: {told}. {_EXPECTED}") from error
    request.named()
    return request
