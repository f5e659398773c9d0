"""Paths and environment variables, in one typed place. Nothing here touches the disk."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from agent_evo_dagster.errors import SettingsError

HOME = "AGENT_EVO_HOME"

Personal = Literal["email", "ip", "home"]
ApprovalPolicy = Literal["auto", "manual", "two_person"]
RollbackScope = Literal["off", "auto", "all"]
AnalystName = Literal["rules", "anthropic", "openai", "claude_code"]
JudgeName = Literal["rollout", "llm"]
ServiceName = Literal["anthropic", "openai", "claude_code"]
WEEK = 604_800.0  # seconds; sockets and polls take a few of them and no more
YEAR = 31_536_000.0


class Settings(BaseSettings):
    """What the environment decides; every field is read from `AGENT_EVO_<FIELD>`."""

    model_config = SettingsConfigDict(env_prefix="AGENT_EVO_", env_ignore_empty=True, frozen=True)

    home: Path = Field(Path(".agent_evo"), description="Folder of everything that a round stores.")
    bank: Path | None = Field(None, description="Bank that rounds write to; default: <home>/skill_bank.")
    policy: ApprovalPolicy = Field("auto", description="The approval rule: who decides on a judged patch.")
    expiry_days: float | None = Field(
        None,
        gt=0,
        le=36_500,
        allow_inf_nan=False,
        description="Days after which a waiting patch expires; none: never.",
    )
    rollback: RollbackScope = Field(
        "auto",
        description="What a regression takes out again: what a rule approved, all, or nothing (off).",
    )
    executor: Literal["in_process", "multiprocess"] = Field(
        "in_process", description="How Dagster runs the steps of a round: here, or in a process each."
    )
    redact: Annotated[tuple[Personal, ...], NoDecode] = Field(
        (), description="Personal data to redact besides all secrets: any of email,ip,home; commas between."
    )
    prices: Path | None = Field(
        None,
        description="JSON file of what models cost, for the cost of sessions; without it, none is given.",
    )
    detectors: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Session detectors of one's own: package.module:Class; commas between.",
    )
    analyst: AnalystName = Field(
        "rules", description="Who turns findings into patches; all but rules ask a model."
    )
    analyst_model: str | None = Field(None, description="Name of the analyst's model.")
    analyst_url: str | None = Field(
        None,
        pattern=r"^https?://[^@\s]+$",
        description="Base URL of the analyst's service; default: its own.",
    )
    analyst_key_env: str | None = Field(
        None, description="Variable with the service's key; none: a server without keys."
    )
    analyst_calls: int = Field(6, ge=1, description="Requests that one analysis may make, tries included.")
    analyst_tokens: int = Field(120_000, ge=1, description="Tokens that one analysis may take.")
    analyst_money: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="US dollars that one analysis may cost."
    )
    analyst_seconds: float = Field(
        300.0, gt=0, le=WEEK, allow_inf_nan=False, description="Seconds that one analysis may take."
    )
    analyst_output_tokens: int = Field(8000, ge=1, description="Tokens of one answer.")
    judges: Annotated[tuple[JudgeName, ...], NoDecode] = Field(
        (), description="Judges of prose besides replay: any of rollout,llm; commas between. They cost."
    )
    rollout_reader: ServiceName = Field(
        "claude_code", description="Who does the tasks of the judge rollout: the client, or a model."
    )
    rollout_model: str | None = Field(None, description="Name of its model.")
    rollout_url: str | None = Field(
        None, pattern=r"^https?://[^@\s]+$", description="Base URL of its service; default: its own."
    )
    rollout_key_env: str | None = Field(
        None, description="Variable with the service's key; none: a server without keys."
    )
    rollout_samples: int | None = Field(
        None, ge=1, le=100, description="Rollouts of each task on each side; default: as few as can tell."
    )
    rollout_workers: int = Field(1, ge=1, le=64, description="Rollouts that run at a time.")
    rollout_money: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="US dollars that one round's rollouts may cost; default: 20 with claude_code.",
    )
    rollout_tokens: int = Field(10_000_000, ge=1, description="Tokens that one round's rollouts may take.")
    rollout_seconds: float = Field(
        4 * 3600.0,
        gt=0,
        le=WEEK,
        allow_inf_nan=False,
        description="Seconds that one round's rollouts may take.",
    )
    rollout_output_tokens: int = Field(4000, ge=1, description="Tokens of one answer of a model.")
    operator_model: str | None = Field(
        None, description="Model of the operator claude_code; default: the client's own choice."
    )
    judge_service: ServiceName | None = Field(None, description="Service that the judge llm asks.")
    judge_model: str | None = Field(None, description="Name of its model.")
    judge_url: str | None = Field(
        None, pattern=r"^https?://[^@\s]+$", description="Base URL of the service; default: its own."
    )
    judge_key_env: str | None = Field(
        None, description="Variable with the service's key; none: a server without keys."
    )
    judge_samples: int = Field(
        6, ge=2, le=20, description="Comparisons of each patch, each in both orders; 6 can show harm."
    )
    judge_calls: int = Field(100, ge=1, description="Requests for one round's judging, tries included.")
    judge_tokens: int = Field(300_000, ge=1, description="Tokens that one round's judging may take.")
    judge_money: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="US dollars that one round's judging may cost."
    )
    judge_seconds: float = Field(
        900.0, gt=0, le=WEEK, allow_inf_nan=False, description="Seconds that one round's judging may take."
    )
    judge_output_tokens: int = Field(2000, ge=1, description="Tokens of one answer.")
    trainer_python: Path | None = Field(None, description="Python that runs the worker; default: this one.")
    deployment: Path | None = Field(
        None, description="YAML or JSON file of where runs compute: backends' Pythons, devices, servers, Ray."
    )
    heartbeat_timeout: float = Field(
        300.0,
        gt=0,
        le=WEEK,
        description="Seconds without a sign of life after which a worker is hung.",
    )
    time_limit: float = Field(6 * 3600.0, gt=0, le=YEAR, description="Seconds that a training job may take.")

    @field_validator("redact", "detectors", "judges", mode="before")
    @classmethod
    def _kinds(cls, value: object) -> object:
        """The environment's text as a list."""
        if not isinstance(value, str):
            return value
        return [kind.strip() for kind in value.split(",") if kind.strip()]

    @property
    def root(self) -> Path:
        """The home as an absolute path."""
        return self.home.expanduser().resolve()

    @property
    def spool(self) -> Path:
        """Folder of the hook event files, the durable log."""
        return self.root / "spool"

    @property
    def warehouse(self) -> Path:
        """Folder of Parquet files: one per asset and round."""
        return self.root / "warehouse"

    @property
    def runs(self) -> Path:
        """Folder of training output, one folder per round."""
        return self.root / "runs"

    @property
    def reports(self) -> Path:
        """Folder of the reports, one folder per round."""
        return self.root / "reports"

    @property
    def rounds(self) -> Path:
        """Folder of the round manifests and statuses."""
        return self.root / "rounds"

    @property
    def analyses(self) -> Path:
        """Folder of the answers of analysts, by hash of the question."""
        return self.root / "analyses"

    @property
    def rollouts(self) -> Path:
        """Folder of attempts at the tasks of judges, by hash of what was tried."""
        return self.root / "rollouts"

    @property
    def tasks(self) -> Path:
        """Folder of the tasks for skills, in the bank."""
        return self.bank_path / "tasks"

    @property
    def operators(self) -> Path:
        """Folder of what operators did, by session."""
        return self.root / "operators"

    @property
    def bank_snapshots(self) -> Path:
        """Folder of the banks that rounds read, by content hash."""
        return self.root / "bank_snapshots"

    @property
    def bank_path(self) -> Path:
        """The skill bank that rounds read, and write to through the gate."""
        return (self.bank or self.root / "skill_bank").expanduser().resolve()


def read_settings(default_home: Path | None = None) -> Settings:
    """The settings of the environment; `default_home` counts where it names no home.

    Raises:
        SettingsError: a variable that cannot be used as given.
    """
    named = bool(os.environ.get(HOME))  # set to nothing is not set
    try:
        return Settings() if named or default_home is None else Settings(home=default_home)
    except ValidationError as error:
        problems = [
            f"AGENT_EVO_{str(detail['loc'][0]).upper()}={detail['input']!r}: {detail['msg']}"
            for detail in error.errors(include_url=False)
        ]
        raise SettingsError(f"The environment cannot be used as given: {'; '.join(problems)}") from error
