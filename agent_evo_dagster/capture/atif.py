"""The Agent Trajectory Interchange Format, ATIF v1.7 (Harbor's RFC 0001), as strict models. No mapping.

Field names and rules are the RFC's. Older v1 documents are accepted: their fields are a part of v1.7's.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, field_validator, model_validator
from pydantic import ValidationError as _ValidationError

from agent_evo_dagster.errors import CaptureError

VERSION = "ATIF-v1.7"
Extra = dict[str, JsonValue]
_AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")

Count = Annotated[StrictInt, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Agent(_Part):
    """The agent system that acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[Extra] | None = None
    extra: Extra | None = None


class ImageSource(_Part):
    """A picture beside the document."""

    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    path: str


class ContentPart(_Part):
    """Text, or a picture."""

    type: Literal["text", "image"]
    text: str | None = None
    source: ImageSource | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "ContentPart":
        if (self.text is None, self.source is None) != (self.type != "text", self.type == "text"):
            raise ValueError("a part of type text has text alone, one of type image has source alone")
        return self


Content = str | list[ContentPart]


class ToolCall(_Part):
    """A call that the agent made."""

    tool_call_id: str
    function_name: str
    arguments: Extra
    extra: Extra | None = None


class SubagentRef(_Part):
    """Where the trajectory of a subagent is."""

    trajectory_id: str | None = None
    session_id: str | None = None  # tells, but resolves nothing
    trajectory_path: str | None = None
    extra: Extra | None = None


class Result(_Part):
    """What one call, or the environment, answered."""

    source_call_id: str | None = None
    content: Content | None = None
    subagent_trajectory_ref: list[SubagentRef] | None = None
    extra: Extra | None = None


class Observation(_Part):
    """What came back in a step."""

    results: list[Result]


class Metrics(_Part):
    """Tokens and cost of a step; `prompt_tokens` includes `cached_tokens`."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[StrictInt] | None = None
    completion_token_ids: list[StrictInt] | None = None
    logprobs: list[float] | None = None
    extra: Extra | None = None


class FinalMetrics(_Part):
    """Sums over the steps."""

    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_cost_usd: float | None = None
    total_steps: Count | None = None
    extra: Extra | None = None


class Step(_Part):
    """A prompt, or a turn of the agent."""

    step_id: Annotated[StrictInt, Field(ge=1)]
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    message: Content
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: Count | None = None
    extra: Extra | None = None

    @field_validator("timestamp")
    @classmethod
    def _is_iso(cls, value: str | None) -> str | None:
        if value is not None:
            datetime.fromisoformat(value)
        return value

    @model_validator(mode="after")
    def _is_whole(self) -> "Step":
        if self.source != "agent":
            for name in _AGENT_ONLY:
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} is for steps of the agent alone")
        elif self.llm_call_count == 0 and (self.metrics or self.reasoning_content is not None):
            raise ValueError("a step without a call of the model has neither metrics nor reasoning_content")
        calls = {call.tool_call_id for call in self.tool_calls or ()}
        if len(calls) != len(self.tool_calls or ()):
            raise ValueError("a tool_call_id occurs twice in a step")
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in calls:
                raise ValueError(f"source_call_id {result.source_call_id[:80]!r} is no call of its step")
        return self


class Trajectory(_Part):
    """A document: one agent's steps, with those of its subagents."""

    schema_version: Literal[
        "ATIF-v1.0", "ATIF-v1.1", "ATIF-v1.2", "ATIF-v1.3", "ATIF-v1.4", "ATIF-v1.5", "ATIF-v1.6", "ATIF-v1.7"
    ]
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent
    steps: Annotated[list[Step], Field(min_length=1)]
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    extra: Extra | None = None
    subagent_trajectories: list["Trajectory"] | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> "Trajectory":
        for place, step in enumerate(self.steps, 1):
            if step.step_id != place:
                raise ValueError(f"step_id must count from 1: expected {place}, found {step.step_id}")
        ids = [child.trajectory_id for child in self.subagent_trajectories or ()]
        if None in ids or len(set(ids)) != len(ids):
            raise ValueError("each of subagent_trajectories needs a trajectory_id of its own")
        if self.schema_version == VERSION:
            self._refs_resolve(set(ids))
        return self

    def _refs_resolve(self, known: set[str | None]) -> None:
        results = [result for step in self.steps if step.observation for result in step.observation.results]
        for ref in [ref for result in results for ref in result.subagent_trajectory_ref or ()]:
            if ref.trajectory_path is None and ref.trajectory_id not in known:
                raise ValueError("a subagent_trajectory_ref names neither a file nor an embedded trajectory")


def validate(document: object) -> Trajectory:
    """The document as a model.

    Raises:
        CaptureError: it breaks a rule of the format; the message names places and rules, no content.
    """
    try:
        return Trajectory.model_validate(document)
    except _ValidationError as error:
        problems = error.errors(include_input=False, include_url=False, include_context=False)
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problems[:3])
        raise CaptureError(
            f"This should be a document of {VERSION} and is none ({len(problems)} problems): {told}"
        ) from error
