"""What a round did not propose and why, kept beside its manifest. No proposing, no table."""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agent_evo_dagster.analysis.display import one_line
from agent_evo_dagster.analysis.views.not_proposed import NotProposed
from agent_evo_dagster.patches.propose import Skipped
from agent_evo_dagster.rounds.beside import keep, kept
from agent_evo_dagster.rounds.store import RoundStore

_NAME: Final = "not_proposed"


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
    keep(store, key, _NAME, _File(not_proposed=tuple(records)))


def not_proposed(store: RoundStore, key: str) -> tuple[NotProposed, ...] | None:
    """What it did not propose; None where the round was made before that was kept.

    Raises:
        RoundError: what is kept cannot be read.
    """
    file = kept(store, key, _NAME, _File, what=f"What {key} did not propose", without="it counts as not kept")
    if file is None:
        return None
    return tuple(NotProposed(one.finding, one.setting, one.reason) for one in file.not_proposed)
