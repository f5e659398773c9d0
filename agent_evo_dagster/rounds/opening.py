"""The opening of a round: what it reads is chosen and frozen here. Nothing is computed from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent_evo_dagster.capture.companions import document_slices, transcript_slices
from agent_evo_dagster.capture.copies import copy_transcripts
from agent_evo_dagster.capture.redact import load_key, redact_text
from agent_evo_dagster.capture.slices import available_slices, unreadable_files
from agent_evo_dagster.capture.spool_index import INDEX_FILE
from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.errors import EmptySpoolError, RoundError
from agent_evo_dagster.files import locked
from agent_evo_dagster.rounds.configuration import round_config
from agent_evo_dagster.rounds.runs import completed_checkpoint
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import Opener, ParentCheckpoint, RoundManifest, SliceRecord
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank, create_bank, snapshot

QUIET = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class RoundRequest:
    """What the person or the sensor that opens a round decides."""

    request: str = ""
    seed: int = 0
    overrides: Mapping[str, float | int | str] = field(default_factory=dict)
    include_open_sessions: bool = False
    allow_empty: bool = False
    quiet: timedelta = QUIET
    opened_by: Opener = "person"


def ensure_bank(settings: Settings, template: Path) -> SkillBank:
    """The bank that rounds write to; a copy of `template` is made where none exists."""
    if not settings.bank_path.exists():
        create_bank(template, settings.bank_path)
    return SkillBank.open(settings.bank_path)


def taken_slices(store: RoundStore) -> list[FileSlice]:
    """What all rounds so far took from the spool."""
    return [to_slice(record) for manifest in store.all() for record in manifest.slices]


def to_slice(record: SliceRecord) -> FileSlice:
    """The slice that a manifest records."""
    return FileSlice(record.file, record.start, record.end, record.sha256, record.sessions)


def new_slices(
    settings: Settings, store: RoundStore, ask: RoundRequest, now: datetime, *, copy: bool = False
) -> list[FileSlice]:
    """Finished sessions of the spool that no round took yet, with their transcripts.

    `copy` brings the transcripts that the client still has into the spool first.
    """
    taken, quiet, include_open = taken_slices(store), ask.quiet, ask.include_open_sessions
    captured = available_slices(
        settings.spool,
        taken,
        now=now,
        quiet=quiet,
        include_open=include_open,
        index=settings.root / INDEX_FILE,
    )
    if copy:
        copy_transcripts(settings.spool, captured)
    told = transcript_slices(settings.spool, captured, taken, now=now, quiet=quiet, include_open=include_open)
    return captured + told + document_slices(settings.spool, taken)


def open_round(
    settings: Settings, template: Path, ask: RoundRequest, *, now: datetime | None = None
) -> RoundManifest:
    """Freeze the input of the next round and write its manifest.

    Args:
        settings: Where everything lies.
        template: Bank to copy where the settings name none that exists.
        ask: What the round is asked to do.
        now: The time of opening; the clock's where absent.

    Raises:
        EmptySpoolError: nothing was ever captured, and `ask.allow_empty` is not set.
        TrainingError: what is asked for is no configuration.
        SkillBankError: the bank does not compile.
        RoundError: the policy that the round would go on from is gone.
    """
    moment = now or datetime.now(UTC)
    store = RoundStore(settings.rounds)
    with locked(store.lock):
        slices = new_slices(settings, store, ask, moment, copy=True)
        if not slices and not taken_slices(store) and not ask.allow_empty:
            raise EmptySpoolError(_nothing_captured(settings))
        bank = ensure_bank(settings, template)
        key = store.next_key()
        secrets_key = load_key(settings.root, personal=settings.redact)
        manifest = RoundManifest(
            key=key,
            number=int(key.removeprefix("round-")),
            opened_at=moment,
            seed=ask.seed,
            request=ask.request,
            overrides=dict(ask.overrides),
            policy=settings.policy,
            include_open_sessions=ask.include_open_sessions,
            opened_by=ask.opened_by,
            unreadable=unreadable_files(settings.spool),
            slices=tuple(_record(part, secrets_key) for part in slices),
            bank_hash=snapshot(bank, settings.bank_snapshots),
            parent=_parent(settings, store),
        )
        round_config(manifest, bank)  # what can never run is not opened, and takes no session
        store.save(manifest)
    return manifest


def _record(part: FileSlice, key: bytes) -> SliceRecord:
    """What the manifest tells of a slice; its sessions have the ids that their events will have."""
    sessions = tuple(redact_text(session, key) for session in part.sessions)
    return SliceRecord(file=part.file, start=part.start, end=part.end, sha256=part.sha256, sessions=sessions)


def _parent(settings: Settings, store: RoundStore) -> ParentCheckpoint | None:
    """The newest round whose training is whole: a failed round does not block the next.

    Raises:
        RoundError: a finished round has lost its training; going on without it would silently undo it.
    """
    for key in reversed(store.keys()):
        digest = completed_checkpoint(settings.runs, key)
        if digest:
            return ParentCheckpoint(round=key, sha256=digest)
        if store.finished(key):
            raise RoundError(
                f"The next round goes on from the policy of {key}, which was trained, and its output "
                f"{settings.runs / key} is gone. Bring it back, or make it again: "
                f"agent-evo rounds run {key} --only training"
            )
    return None


def _nothing_captured(settings: Settings) -> str:
    broken = "".join(f" {name}: {why}." for name, why in unreadable_files(settings.spool).items())
    told = f"Files that cannot be read:{broken} " if broken else ""
    return (
        f"A round was asked for, and the spool {settings.spool} holds no finished session. {told}"
        "Either capture some (agent-evo hooks install --project DIR, then work with Claude Code), "
        "import some (agent-evo import PATH; the samples: agent-evo import samples), "
        "take sessions that are still open (--include-open-sessions), "
        "or train without sessions (--allow-empty)."
    )
