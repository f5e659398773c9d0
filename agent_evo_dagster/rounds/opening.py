"""The opening of a round: what it reads is chosen and frozen here. Nothing is computed from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent_evo_dagster.capture.companions import document_slices, earlier_slices, transcript_slices
from agent_evo_dagster.capture.copies import copy_transcripts, of_late
from agent_evo_dagster.capture.redact import load_key, redact_text
from agent_evo_dagster.capture.slices import look
from agent_evo_dagster.capture.spool_index import INDEX_FILE
from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.errors import EmptySpoolError, RoundError
from agent_evo_dagster.files import locked
from agent_evo_dagster.operators.types import OperatorRun
from agent_evo_dagster.rounds.configuration import require_understood, round_config
from agent_evo_dagster.rounds.runs import completed_checkpoint
from agent_evo_dagster.rounds.state import state_of
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
    config_file: Mapping[str, float | int | str] = field(default_factory=dict)
    operated: OperatorRun | None = None  # what an agent did for this round before it is opened
    anyway: bool = False  # also with a request of which nothing is understood


def ensure_bank(settings: Settings, template: Path) -> SkillBank:
    """The bank that rounds write to; a copy of `template` is made where none exists."""
    if not settings.bank_path.exists():
        create_bank(template, settings.bank_path)
    return SkillBank.open(settings.bank_path)


@dataclass(frozen=True, slots=True)
class News:
    """What a round would take from the spool."""

    slices: list[FileSlice]
    sessions: frozenset[str]  # of them; without those of which only a late transcript is new
    unreadable: Mapping[str, str]  # file -> why it was passed over
    taken: list[FileSlice]  # by the rounds so far


def news(
    settings: Settings, store: RoundStore, ask: RoundRequest, now: datetime, *, copy: bool = False
) -> News:
    """Finished sessions of the spool that no round took yet, and transcripts that have more to tell.

    `copy` brings the transcripts that the client still has into the spool first.
    """
    spool, index = settings.spool, settings.spool / INDEX_FILE
    quiet, include_open = ask.quiet, ask.include_open_sessions
    taken = [part for frozen in map(store.frozen, store.keys()) for part in frozen.slices]
    found = look(spool, taken, now=now, quiet=quiet, include_open=include_open, index=index)
    if copy:
        copy_transcripts(spool, [*found.slices, *of_late(spool, taken, now)])
    told = transcript_slices(spool, found.slices, taken, now=now, quiet=quiet, include_open=include_open)
    others = told + document_slices(spool, taken)
    before = {session for part in taken for session in part.sessions}
    sessions = {session for part in found.slices for session in part.sessions}
    sessions |= {session for part in others for session in part.sessions} - before
    return News(found.slices + others, frozenset(sessions), found.unreadable, taken)


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
        TrainingError: what is asked for is no configuration, or was not understood at all.
        SkillBankError: the bank does not compile.
        RoundError: the policy that the round would go on from is gone.
    """
    moment = now or datetime.now(UTC)
    store = RoundStore(settings.rounds)
    with locked(store.lock):
        new = news(settings, store, ask, moment, copy=True)
        if not new.slices and not new.taken and not ask.allow_empty:
            raise EmptySpoolError(_nothing_captured(settings, new.unreadable))
        bank = ensure_bank(settings, template)
        key = store.next_key()
        parent, passed_over = _parent(settings, store)
        secrets_key = load_key(settings.root, personal=settings.redact)
        manifest = RoundManifest(
            key=key,
            number=int(key.removeprefix("round-")),
            opened_at=moment,
            seed=ask.seed,
            request=ask.request,
            overrides=dict(ask.overrides),
            config_file=dict(ask.config_file),
            operator="direct" if ask.operated is None else "claude_code",
            operated=ask.operated,
            policy=settings.policy,
            include_open_sessions=ask.include_open_sessions,
            opened_by=ask.opened_by,
            unreadable=dict(new.unreadable),
            slices=tuple(_record(part, secrets_key) for part in new.slices),
            earlier=tuple(
                _record(part, secrets_key) for part in earlier_slices(settings.spool, new.slices, new.taken)
            ),
            bank_hash=snapshot(bank, settings.bank_snapshots),
            parent=parent,
            passed_over=passed_over,
        )
        found = round_config(manifest, bank)  # what can never run is not opened, and takes no session
        if ask.operated is None and not ask.anyway:  # an agent reads the request itself
            require_understood(found, ask.request)
        store.save(manifest)
    return manifest


def _record(part: FileSlice, key: bytes) -> SliceRecord:
    """What the manifest tells of a slice; its sessions have the ids that their events will have."""
    sessions = tuple(redact_text(session, key) for session in part.sessions)
    return SliceRecord(file=part.file, start=part.start, end=part.end, sha256=part.sha256, sessions=sessions)


def _parent(settings: Settings, store: RoundStore) -> tuple[ParentCheckpoint | None, dict[str, str]]:
    """The policy of the newest round that came to its end, and later rounds that trained and did not.

    A failed round does not block the next. Nor is it gone on from: what it did was judged by nobody, and
    patches that its skills had are looked at again by the next round.

    Raises:
        RoundError: a finished round has lost its training, and going on without it would silently undo it;
            or it has another one than when it ended, or its status cannot be read.
    """
    passed_over: dict[str, str] = {}
    for key in reversed(store.keys()):
        digest = completed_checkpoint(settings.runs, key)
        if store.finished(key):
            if digest is None:
                raise RoundError(_training_lost(settings, key))
            _require_judged(store, key, digest)
            return ParentCheckpoint(round=key, sha256=digest), passed_over
        if digest is not None:
            passed_over[key] = state_of(settings, key).word
    return None, passed_over


def _require_judged(store: RoundStore, key: str, digest: str) -> None:
    """Refuse a model that was trained again since its round ended, and came out otherwise."""
    status = store.status(key)
    judged = status.training.checkpoint_sha256 if status else None
    if digest != judged:
        raise RoundError(
            f"The next round goes on from the model of {key}, which is {digest[:12]} now; the one that {key} "
            f"ended with was {str(judged)[:12]}. It was trained again, came out otherwise, and nobody judged "
            f"it. Run the round to its end again: agent-evo rounds run {key}"
        )


def _training_lost(settings: Settings, key: str) -> str:
    return (
        f"The next round goes on from the model of {key}, which was trained, and its output "
        f"{settings.runs / key} is gone. Bring it back, or make it again: "
        f"agent-evo rounds run {key} --only training"
    )


def origin_told(manifest: RoundManifest) -> str:
    """What the round starts from and which rounds it does not, as they were when it was opened."""
    origin = f"the model of {manifest.parent.round}" if manifest.parent else "the base of its model"
    others = ", ".join(f"{key} (then: {state})" for key, state in manifest.passed_over.items())
    return (
        f"{manifest.key} starts from {origin}, not from {others}: only a round that had come to its end is "
        f"gone on from."
    )


def to_go_on(manifest: RoundManifest) -> str:
    """How the next round goes on from what this one passed over; of use while it is being opened."""
    first = next(iter(manifest.passed_over))
    return f"For the next round to go on from {first}, run it to its end: agent-evo rounds run {first}"


def _nothing_captured(settings: Settings, unreadable: Mapping[str, str]) -> str:
    broken = "".join(f" {name}: {why}." for name, why in unreadable.items())
    told = f"Files that cannot be read:{broken} " if broken else ""
    return (
        f"A round was asked for, and the spool {settings.spool} holds no finished session. {told}"
        "Either capture some (agent-evo hooks install --project DIR, then work with Claude Code), "
        "import some (agent-evo import PATH; the samples: agent-evo import samples), "
        "take sessions that are still open (--include-open-sessions), "
        "or train without sessions (--allow-empty)."
    )
