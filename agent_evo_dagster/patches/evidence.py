"""The gate's evidence: what was compared, on what, with what result. JSON on disk; no rules."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from agent_evo_dagster.patches.types import GateVerdict


class ProbeFacts(BaseModel):
    """What was planned and where it started: the judge checks that the rows are what was planned."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    init_sha256: str = Field(description="Hash of the policy that both sides started from.")
    seeds: tuple[int, ...] = Field(min_length=1)
    tasks: int = Field(ge=1)
    samples: int = Field(ge=1, description="Sampled rollouts of each task, side and seed.")
    steps: int = Field(ge=1, description="Optimiser steps of each short training.")
    stopped_early: str | None = Field(default=None, description="Why it ended before the plan did.")


class ReplayFacts(BaseModel):
    """What a replay looked at: sessions that came after the round whose findings made the patch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    made_in: str = Field(
        description="The round that first proposed it; its sessions and older ones count not."
    )
    rounds: tuple[str, ...] = Field(description="The later rounds whose sessions were looked at.")
    sessions: int = Field(ge=0, description="Later sessions in them.")
    failures: int = Field(
        ge=0, description="Calls that failed in these while the patch's skill was followed."
    )
    named_before: int = Field(ge=0, description="Of them, those that the section as it is names.")
    named_after: int = Field(ge=0, description="Of them, those that it names with the patch.")


class RolloutFacts(BaseModel):
    """What paired rollouts with two texts of a skill were planned to be, and how they ended."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    operator: str = Field(description="Who followed both versions of the skill.")
    model: str | None = Field(description="The model behind it, where it is told.")
    tasks: int = Field(ge=1)
    tasks_sha256: str = Field(description="Hash of the tasks, as they were given.")
    skill_sha256: tuple[str, str] = Field(description="Hashes of the skill, without the patch and with it.")
    samples: int = Field(ge=1, description="Rollouts of each task on each side.")
    stopped_early: str | None = Field(default=None, description="Why it ended before the plan did.")


class LlmFacts(BaseModel):
    """What a model was asked about the two texts, and how it ended."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    service: str = Field(description="Which service answered.")
    model: str | None = Field(description="The model, as it is told; null where it is not.")
    rubric: str = Field(description="Version of the rubric.")
    samples: int = Field(ge=1, description="Planned comparisons; each is asked in both orders.")
    asked: int = Field(ge=0, description="Of them, those that were answered in both orders.")
    votes: int = Field(ge=0, description="All votes: criteria times comparisons.")
    better: int = Field(ge=0, description="Of them, those for the patch in both orders.")
    worse: int = Field(ge=0, description="Those against it in both orders; the rest are ties.")
    by_position: int = Field(ge=0, description="Ties that are votes which turned round with the order.")
    failures: int = Field(ge=0, description="Failures of later sessions that the model was shown.")
    stopped_early: str | None = Field(default=None, description="Why it ended before the plan did.")


class TaskComparison(BaseModel):
    """One held-out task, or one later session, on both sides; means over seeds and samples."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    rollouts: int = Field(description="Of each side.")
    baseline: FiniteFloat
    candidate: FiniteFloat
    baseline_accuracy: FiniteFloat
    candidate_accuracy: FiniteFloat


class SeedDifference(BaseModel):
    """What one seed alone says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int
    baseline: FiniteFloat | None = Field(None, description="Mean reward; null where only a difference is.")
    candidate: FiniteFloat | None = None
    difference: FiniteFloat


class Measured(BaseModel):
    """The numbers of a paired comparison that can be trusted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int = Field(description="Paired tasks; of a replay, sessions.")
    baseline: FiniteFloat = Field(description="Mean reward over tasks; of a replay, share of failures named.")
    candidate: FiniteFloat
    difference: FiniteFloat
    low: FiniteFloat = Field(description="Of the difference: bootstrap over tasks and seeds.")
    high: FiniteFloat
    confidence: FiniteFloat
    baseline_accuracy: FiniteFloat
    candidate_accuracy: FiniteFloat
    regressions: dict[str, FiniteFloat] = Field(
        description="Tasks worse beyond noise, with adjusted p-value."
    )
    alpha: FiniteFloat = Field(description="Chance of naming any task wrongly, over all tasks.")
    by_seed: tuple[SeedDifference, ...]
    tasks: tuple[TaskComparison, ...]


class Cost(BaseModel):
    """What the evidence took, in units that do not depend on the machine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rollouts: int = 0
    tokens: int = 0
    training_steps: int | None = None
    calls: int | None = Field(
        default=None, description="Questions asked of a model, or starts of an operator."
    )
    usd: FiniteFloat | None = Field(default=None, ge=0, description="US dollars, where a price is known.")


class GateEvidence(BaseModel):
    """All that a verdict rests on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    patch_id: str
    judge: Literal["probe", "replay", "rollout", "llm", "none"]
    acceptance: str = Field(description="The rule that turned the numbers into the verdict.")
    verdict: GateVerdict
    reason: str
    settings: dict[str, tuple[int | float, int | float]] = Field(
        description="What was compared: old and new."
    )
    split: Literal["judge", "later_sessions", "rubric"] = "judge"
    mode: Literal["sampled", "greedy"] = "sampled"
    facts: ProbeFacts | None
    problems: tuple[str, ...] = Field(description="Why the numbers cannot be trusted.")
    measured: Measured | None = Field(description="Null where they cannot.")
    cost: Cost
    replay: ReplayFacts | None = Field(default=None, description="Of a replay alone.")
    rollout: RolloutFacts | None = Field(default=None, description="Of paired rollouts alone.")
    llm: LlmFacts | None = Field(default=None, description="Of a model's comparison alone.")

    def as_json(self) -> str:
        """One line; what only other judges have is left out."""
        others = {name for name in ("replay", "rollout", "llm") if getattr(self, name) is None}
        unspent = {name for name in ("calls", "usd") if getattr(self.cost, name) is None}
        return self.model_dump_json(exclude={**dict.fromkeys(others, True), "cost": unspent})
