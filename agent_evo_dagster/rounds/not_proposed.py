"""What a round did not propose and why, kept beside its manifest. No proposing, no table."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.analysis.display import one_line
from agent_evo_dagster.analysis.views.not_proposed import NotProposed
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.patches.propose import Skipped
from agent_evo_dagster.rounds.store import RoundStore


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    finding: str = Field(description="Id of a finding, or of a patch that a person had made of others.")
    setting: str = Field(description="What it asks for: a setting, prose, or made.")
    reason: str


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    not_proposed: tuple[_Record, ...]


def keep_not_proposed(store: RoundStore, key: str, skipped: Sequence[Skipped]) -> None:
    """Keep what a round did not propose, in the order of looking; made again, it is the same."""
    records = [
        _Record(finding=one_line(one.finding_id), setting=one_line(one.setting), reason=one_line(one.reason))
        for one in skipped
    ]
    kept = _File(not_proposed=tuple(records))
    write_atomic(_path(store, key), kept.model_dump_json(indent=2).encode() + b"\n")


def not_proposed(store: RoundStore, key: str) -> tuple[NotProposed, ...] | None:
    """What it did not propose; None where the round was made before that was kept.

    Raises:
        RoundError: what is kept cannot be read.
    """
    path = _path(store, key)
    if not path.is_file():
        return None
    try:
        kept = _File.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RoundError(
            f"What {key} did not propose cannot be read from {path} ({error.error_count()} errors). "
            f"Delete it, and it counts as not kept."
        ) from error
    return tuple(NotProposed(one.finding, one.setting, one.reason) for one in kept.not_proposed)


def _path(store: RoundStore, key: str) -> Path:
    return store.folder(key) / "not_proposed.json"
