"""Checkpoints in the Hugging Face layout: loading, and saving in one step. No pickles, only safetensors."""

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.extras import require
from agent_evo_dagster.files import replace_tree, sha256_tree
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.placement import placement

EMBEDDED = Path(__file__).parent / "embedded"
EMBEDDED_SHA256 = "58dd6c2ff7ca99a2c3299ee9321828952dbb8b4a71d23dba0a63258523f17362"
NEEDED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True)
class Policy:
    """A model in fp32 with its tokenizer, and the hash of the folder that they came from."""

    model: Any
    tokenizer: Any
    sha256: str


def require_checkpoint(folder: Path | None) -> Path:
    """The folder of a policy, that of the embedded base where `folder` is None.

    Raises:
        TrainingError: a file of the checkpoint is missing.
    """
    path = EMBEDDED if folder is None else folder
    missing = [name for name in NEEDED if not (path / name).is_file()]
    if missing:
        raise TrainingError(
            f"No policy can be loaded from {path}: it lacks {', '.join(missing)}. A checkpoint is a "
            "folder in the Hugging Face layout with safetensors weights."
        )
    return path


def load_policy(folder: Path | None) -> Policy:
    """The policy in `folder`, or the embedded base where that is None.

    Raises:
        TrainingError: a file is missing, or the embedded base is not the one that was shipped.
        MissingExtraError: torch or transformers is not installed.
    """
    path = require_checkpoint(folder)
    sha256 = sha256_tree(path)
    if folder is None and sha256 != EMBEDDED_SHA256:
        raise TrainingError(
            f"The embedded policy has the hash {sha256}, not {EMBEDDED_SHA256}: the installation is damaged. "
            "Install the package again."
        )
    return _load(path, sha256)


def load_trainable(folder: Path | None, config: TrainingConfig) -> Policy:
    """The policy in `folder` on the device where it is to be trained.

    Weights that stay as they are, below adapters, are held in the precision of the computation.

    Raises:
        TrainingError: as `load_policy`; the device is not here.
    """
    place = placement(config)
    policy = load_policy(folder)
    import torch

    dtype = getattr(torch, place.dtype) if config.lora_rank else torch.float32
    return Policy(policy.model.to(place.device, dtype), policy.tokenizer, policy.sha256)


def _load(path: Path, sha256: str) -> Policy:
    torch = require("torch", extra="hf", feature="training")
    require("transformers", extra="hf", feature="training")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(
        path, dtype=torch.float32, local_files_only=True, use_safetensors=True
    )
    return Policy(model.eval(), AutoTokenizer.from_pretrained(path, local_files_only=True), sha256)


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of the policy in `folder`, without its weights.

    Raises:
        MissingExtraError: transformers is not installed.
    """
    require("transformers", extra="vllm", feature="inference with vLLM")
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def chat_template_of(folder: Path) -> str | None:
    """The chat template of the policy in `folder`, read without its libraries; null where there is none."""
    template, config = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    if template.is_file():
        return template.read_text("utf-8")
    found = json.loads(config.read_bytes()).get("chat_template") if config.is_file() else None
    return found if isinstance(found, str) else None


def save_checkpoint(model: Any, tokenizer: Any, folder: Path) -> str:
    """Write the whole checkpoint beside `folder`, then put it in its place; returns its `sha256_tree`."""
    from transformers.utils.logging import disable_progress_bar

    folder.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    disable_progress_bar()
    try:
        model.save_pretrained(staged, safe_serialization=True)
        tokenizer.save_pretrained(staged)
        _make_readable(staged)
        replace_tree(staged, folder)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    return sha256_tree(folder)


def _make_readable(folder: Path) -> None:
    """Modes of ordinary files: temporary folders and safetensors are made for their owner alone."""
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.chmod(0o644)
