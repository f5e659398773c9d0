"""Training output of rounds: where it lies and whether it is whole. No training."""

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.rounds.types import ParentCheckpoint
from agent_evo_dagster.training.launch import REQUEST_FILE
from agent_evo_dagster.training.policy.checkpoints import chat_template_of
from agent_evo_dagster.training.request import WorkerRequest, WorkerResult
from agent_evo_dagster.training.tool_calls.registry import FormatName, format_of


def train_dir(runs: Path, key: str) -> Path:
    """Folder of a round's training run."""
    return runs / key / "train"


def completed_checkpoint(runs: Path, key: str) -> str | None:
    """Hash of the checkpoint of a whole training run; null where the run is missing or not whole."""
    result = train_dir(runs, key) / "result.json"
    if not result.is_file():
        return None
    try:
        return WorkerResult.model_validate_json(result.read_bytes()).checkpoint_sha256
    except ValidationError:
        return None


def sampled_format(runs: Path, key: str, asked: FormatName | Literal["auto"]) -> FormatName:
    """The format of tool calls that a round's rollouts were sampled with, where `asked` was configured.

    Raises:
        RoundError: the policy's own format was asked for, and its checkpoint is gone.
        TrainingError: its chat template tells no format.
    """
    if asked != "auto":
        return asked
    folder = train_dir(runs, key) / "checkpoint"
    template = chat_template_of(folder)
    if template is None:
        raise RoundError(
            f"The rollouts of {key} have the format of tool calls that their model's chat template shows, "
            f"and {folder} has none. Make it again: agent-evo rounds run {key} --only training"
        )
    return format_of(template)


def _model_of(run: Path) -> str | None:
    """The model that a run trained; null where its request is gone."""
    request = run / REQUEST_FILE
    if not request.is_file():
        return None
    try:
        return WorkerRequest.model_validate_json(request.read_bytes()).config.model
    except ValidationError:
        return None


def parent_checkpoint(runs: Path, parent: ParentCheckpoint | None, model: str) -> Path | None:
    """Folder of the checkpoint that a round goes on from; null where it starts from the base of `model`.

    A round that trains another model than its parent starts anew.

    Raises:
        RoundError: the checkpoint is gone, or is not the one that the round was opened on.
    """
    if parent is None or _model_of(train_dir(runs, parent.round)) not in (None, model):
        return None
    folder = train_dir(runs, parent.round) / "checkpoint"
    if not folder.is_dir():
        raise RoundError(
            f"The round starts from the checkpoint of {parent.round}, and {folder} does not exist. "
            f"Make it again: agent-evo rounds run {parent.round} --only training"
        )
    found = sha256_tree(folder)
    if found != parent.sha256:
        raise RoundError(
            f"The round starts from the checkpoint of {parent.round} with hash {parent.sha256[:12]}, and "
            f"{folder} has {found[:12]}: it was changed or made on another machine. "
            f"Make {parent.round} again on the machine that made it, or open a new round."
        )
    return folder
