"""The vocabulary of operators: what they may take, what they are given, and what ran. No client."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from agent_evo_dagster.skills.bank import SkillBank


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that one run of the client may take."""

    turns: int = 40
    seconds: float = 1800.0
    money: float = 5.0  # US dollars


class OperatorRun(BaseModel):
    """What the agent that followed the skills did, as its client tells it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    session_id: str
    client: str = Field(description="The client's own words for its version.")
    models: tuple[str, ...] = Field(description="Those that answered, as the client tells.")
    outcome: str = Field(description="success, a bound such as error_max_turns, error, or timeout.")
    exit_code: int = Field(description="Negative: ended by that signal.")
    turns: int | None = Field(description="Null where it was ended before it told.")
    cost_usd: float | None
    tokens: int | None
    seconds: float

    def line(self) -> str:
        """In words."""
        turns = "turns unknown" if self.turns is None else f"{self.turns} turns"
        cost = "cost unknown" if self.cost_usd is None else f"{self.cost_usd:.4f} USD"
        return (
            f"Claude Code {self.client.removesuffix(' (Claude Code)')} worked {self.seconds:g} s: "
            f"{self.outcome}, exit code {self.exit_code}, {turns}, {cost}, session {self.session_id}"
        )


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an operator works on, and where what it does is kept."""

    request: str  # of the round; may be empty
    bank: SkillBank
    spool: Path
    records: Path  # folder of what ran, by session
    taken: Collection[str] = ()  # sessions that a round was given already
    environment: Mapping[str, str] = field(default_factory=dict)  # where its own training computes
