"""`agent-evo export`: a round's sessions, or the rollouts of its training, as files that other tools read."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import typer

from agent_evo_dagster.capture.names import safe_name
from agent_evo_dagster.capture.sources.atif import documents_of
from agent_evo_dagster.capture.sources.rollouts import ReadTurn, TurnCall, events_of_rollouts
from agent_evo_dagster.capture.types import USAGE_SCHEMA
from agent_evo_dagster.cli.project import project_root, settings_of
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.rounds.runs import sampled_format
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.training.config_sources import config_from_frame
from agent_evo_dagster.training.tool_calls.registry import FormatName, named_format
from agent_evo_dagster.training.tool_calls.types import ToolCall
from agent_evo_dagster.trajectories.atif import to_atif
from agent_evo_dagster.trajectories.build import build_trajectories
from agent_evo_dagster.warehouse import Warehouse

AGENT, POLICY = "claude-code", "policy"


def export(
    key: Annotated[str, typer.Argument(metavar="ROUND", help="Round, such as round-0001.")],
    to: Annotated[Path, typer.Option("--to", help="Folder to write to.")],
    format_: Annotated[Literal["atif"], typer.Option("--format", help="ATIF v1.7 documents.")] = "atif",
    rollouts: Annotated[
        bool, typer.Option("--rollouts", help="Those of the training, not sessions.")
    ] = False,
) -> None:
    """Write the sessions of a round, one document each; what was redacted stays so."""
    settings = settings_of(project_root())
    RoundStore(settings.rounds).load(key)
    store = Warehouse(settings.warehouse)
    if rollouts:
        config = config_from_frame(store.read(("training_config",), key))
        read = reader_of(sampled_format(settings.runs, key, config.tool_format))
        documents = documents_of_rollouts(store.read(("rollout_trajectories",), key), run=key, read=read)
    else:
        frames = [store.read((name,), key) for name in ("hook_events", "trajectories", "token_usage")]
        documents = documents_of_round(*frames)
    for name, document in documents.items():
        write_atomic(to / f"{name}.json", json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n")
    typer.echo(f"{len(documents)} {format_} documents written to {to}")


def documents_of_round(
    events: pl.DataFrame, steps: pl.DataFrame, usage: pl.DataFrame
) -> dict[str, dict[str, object]]:
    """Documents by name: those that were imported as they were, and one for each other session."""
    found: dict[str, dict[str, object]] = {}
    for number, document in enumerate(documents_of(events)):
        found[f"{safe_name(document.get('session_id'))}-{number}"] = document
    imported = events.filter(source="atif")["session_id"].unique().to_list()
    others = steps.filter(~pl.col("session_id").is_in(imported))
    for trajectory in to_atif(others, usage, agent=AGENT, version=_version(events)):
        found[safe_name(trajectory.session_id)] = trajectory.model_dump(mode="json", exclude_none=True)
    return found


class _AnyTool(Collection[str]):
    """Every name is that of a tool: which ones there were is the environment's to know."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def reader_of(name: FormatName) -> ReadTurn:
    """Reads the calls of a turn as the training did; what is not a good call has no name."""
    format_ = named_format(name)

    def read(text: str) -> list[TurnCall]:
        parsed = format_.parse(text, _AnyTool())
        return [
            TurnCall(*span, item.name, item.arguments)
            if isinstance(item, ToolCall)
            else TurnCall(*span, None, None)
            for item, span in zip(parsed.items, parsed.spans, strict=True)
        ]

    return read


def documents_of_rollouts(
    rollouts: pl.DataFrame, *, run: str, read: ReadTurn
) -> dict[str, dict[str, object]]:
    """Documents by name, one for each rollout; its score, and what it belongs to, are in `extra`."""
    events = events_of_rollouts(rollouts, run=run, read=read)
    sessions = events["session_id"].unique(maintain_order=True)
    ends = events.filter(kind="Stop").select("session_id", "extra").iter_rows()
    scores = {session: json.loads(extra) for session, extra in ends}
    steps = build_trajectories(events, over=sessions.to_list())
    usage = pl.DataFrame(schema=USAGE_SCHEMA)
    found = {}
    for trajectory in to_atif(steps, usage, agent=POLICY, version="unknown"):
        document = trajectory.model_dump(mode="json", exclude_none=True)
        for step in document["steps"]:
            _tell_plainly(step)
        found[str(trajectory.session_id)] = {**document, "extra": scores[str(trajectory.session_id)]}
    return found


def _tell_plainly(step: dict[str, Any]) -> None:
    """Rollouts have no clock, and their tools answer with text or not at all."""
    step.pop("timestamp", None)
    for call in step.get("tool_calls", ()):
        call["extra"].pop("duration_ms", None)
    results = step.get("observation", {}).get("results", [])
    for result in results:
        result["content"] = json.loads(result["content"])["content"]
    if any(result["content"] is None for result in results):
        del step["observation"]


def _version(events: pl.DataFrame) -> str:
    """The client's version, where transcripts tell it."""
    extras = events.filter(source="transcript")["extra"].drop_nulls()
    versions = (json.loads(text).get("version") for text in extras)
    return next((version for version in versions if isinstance(version, str)), "unknown")
