"""Lineage archives: what a range of rounds saw, proposed, decided and came to, frozen beside the bank."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.errors import AgentEvoError, RoundError, SkillBankError
from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.patches.decisions import LEDGER_NAME, ledger_of
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.rounds.keys import round_key
from agent_evo_dagster.rounds.status import RoundStatus
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.packages.frozen import (
    INDEX,
    Frozen,
    freeze,
    planned,
    read_package,
    verify_package,
)
from agent_evo_dagster.skills.packages.ids import Kind, PackageId
from agent_evo_dagster.skills.packages.registry import (
    change_registry,
    freezing,
    read_registry,
    with_package,
)
from agent_evo_dagster.warehouse import Warehouse

# The frames of each round that an archive keeps, as they are stored.
FRAMES = (
    "hook_events",
    "quarantined_lines",
    "session_findings",
    "training_findings",
    "skill_patches",
    "patch_evaluation",
    "patch_decisions",
    "skill_versions",
    "round_lineage",
)
MAX_ROUNDS = 10_000
_NUMBERS = re.compile(r"[0-9]{1,9}(?:,[0-9]{1,9})*")
_RANGE = re.compile(r"(?P<first>[0-9]{1,9})-(?P<last>[0-9]{1,9})")


class ArchivedRound(BaseModel):
    """One round of an archive, in a line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    events: int
    checkpoint_sha256: str | None
    accuracy_before: float | None
    accuracy_after: float | None
    decisions: dict[str, str] = Field(description="What was decided on each patch that it proposed.")


class LineageAbout(BaseModel):
    """What `package.json` of a lineage archive says under `about`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    rounds: dict[str, ArchivedRound]
    records: int = Field(description="Lines of the record of decisions.")


@dataclass(frozen=True)
class _Gathered:
    files: dict[str, Path | bytes]
    about: LineageAbout


def parse_rounds(text: str) -> list[str]:
    """The keys of rounds given as numbers, `1,2,5`, or as a range, `1-5`.

    Raises:
        RoundError: neither, or too many.
    """
    found = _RANGE.fullmatch(text)
    if found:
        first, last = int(found["first"]), int(found["last"])
        numbers: Sequence[int] = range(first, last + 1)
    else:
        numbers = sorted({int(part) for part in text.split(",")}) if _NUMBERS.fullmatch(text) else []
    if not numbers or len(numbers) > MAX_ROUNDS:
        raise RoundError(
            f"Rounds {text[:60]!r} were asked for; give numbers such as 1,2,5 or a range such as 1-5, "
            f"of at most {MAX_ROUNDS:,} rounds."
        )
    return [round_key(number) for number in numbers]


def archive_rounds(
    settings: Settings, name: str, keys: Sequence[str], *, into: Path | None = None, dry_run: bool = False
) -> Frozen:
    """Freeze the rounds `keys` as `lineage-archive/NAME` in the bank at `into`, and register it.

    `into` is the bank that rounds write to unless another one is given; the decisions are always of that one.

    Raises:
        RoundError: a round is not open or not finished.
        SkillBankError: an archive of that name exists.
        WarehouseError: a frame of a round is not stored.
        DecisionError: the record of decisions is not whole.
    """
    bank = into or settings.bank_path
    package = PackageId(Kind.LINEAGE, name)
    if str(package) in read_registry(bank).packages:
        raise SkillBankError(
            f"package {package} exists; a frozen package never changes. Choose another name."
        )
    gathered = _gathered(settings, keys)
    target, about = package.path(bank), gathered.about.model_dump(mode="json")
    if dry_run:
        return planned(target, files=gathered.files, about=about)
    with freezing(bank):
        frozen = freeze(target, files=gathered.files, about=about)
        digest = sha256_file(frozen.path / INDEX)
        change_registry(bank, lambda registry: with_package(registry, package, digest, parent=None))
    return frozen


def read_about(path: Path) -> LineageAbout:
    """What the archive at `path` says that it holds.

    Raises:
        SkillBankError: it is not a lineage archive.
    """
    try:
        return LineageAbout.model_validate(read_package(path).about)
    except ValidationError as error:
        raise SkillBankError(f"{path} is not a lineage archive: {error.errors()[0]['msg']}.") from error


def verify_archive(path: Path) -> list[str]:
    """What is wrong with an archive: files, statuses, the chain of its decisions. Empty: nothing is."""
    problems = verify_package(path)
    if problems:
        return problems
    about = read_about(path)
    for key in about.rounds:
        try:
            RoundStatus.model_validate_json((path / "rounds" / key / "status.json").read_bytes())
        except (OSError, ValidationError) as error:
            problems.append(f"the status of {key} cannot be read: {error}")
    try:
        records = len(Ledger(path / LEDGER_NAME).records())
    except AgentEvoError as error:
        return [*problems, str(error)]
    if records != about.records:
        problems.append(f"{LEDGER_NAME} has {records} records, the archive says {about.records}")
    return problems


def _gathered(settings: Settings, keys: Sequence[str]) -> _Gathered:
    ledger = ledger_of(settings.bank_path)
    records = len(ledger.records())
    files: dict[str, Path | bytes] = {LEDGER_NAME: ledger.path.read_bytes() if ledger.path.is_file() else b""}
    rounds = {}
    for key in keys:
        files |= _files_of(settings, key)
        rounds[key] = _told(settings, key)
    return _Gathered(files, LineageAbout(kind=Kind.LINEAGE, rounds=rounds, records=records))


def _files_of(settings: Settings, key: str) -> dict[str, Path | bytes]:
    """What an archive keeps of one round, by its path in the archive."""
    store, warehouse = RoundStore(settings.rounds), Warehouse(settings.warehouse)
    store.load(key)
    if not store.finished(key):
        raise RoundError(
            f"{key} is to be archived, and it is not finished. Finish it (agent-evo rounds run {key}), or "
            f"leave it out: give the others as numbers."
        )
    folder = f"rounds/{key}"
    files: dict[str, Path | bytes] = {
        f"{folder}/{name}": store.folder(key) / name for name in ("manifest.json", "status.json")
    }
    files[f"{folder}/report.md"] = warehouse.read(("analysis_report",), key)["markdown"][0].encode()
    for name in FRAMES:
        warehouse.read((name,), key)  # one that is not stored is told with what makes it
        files[f"{folder}/{name}.parquet"] = warehouse.path((name,), key)
    return files


def _told(settings: Settings, key: str) -> ArchivedRound:
    status = RoundStore(settings.rounds).status(key)
    assert status is not None  # finished: its files were gathered
    decisions = Warehouse(settings.warehouse).read(("patch_decisions",), key)
    return ArchivedRound(
        events=status.events,
        checkpoint_sha256=status.training.checkpoint_sha256,
        accuracy_before=status.training.accuracy_before,
        accuracy_after=status.training.accuracy_after,
        decisions=dict(decisions.select("patch_id", "decision").iter_rows()),
    )
