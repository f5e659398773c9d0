"""Sharded checkpoints of verl as safetensors in the Hugging Face layout, by verl's own merger."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.files import replace_tree
from agent_evo_dagster.training.logs import tail_of
from agent_evo_dagster.training.policy.checkpoints import require_checkpoint

STEP_PREFIX = "global_step_"
ADAPTER = "lora_adapter"
Backend = str  # "fsdp" or "megatron", as the merger calls them


def merge_command(backend: Backend, shards: Path, target: Path, *, tied: bool) -> list[str]:
    """Verl's merger for the actor's shards in `shards`. It casts weights to bfloat16."""
    command = [
        sys.executable, "-m", "verl.model_merger", "merge", "--backend", backend, "--local_dir", str(shards),
        "--target_dir", str(target),
    ]  # fmt: skip
    if backend == "megatron":
        command.append("--use_cpu_initialization")
        if tied:
            command.append("--tie-word-embedding")
    return command


def newest_checkpoint(checkpoints: Path) -> tuple[int, Path]:
    """The last step that verl saved, as verl counts, and the folder of its actor.

    Raises:
        TrainingError: it saved none.
    """
    found = {
        int(folder.name.removeprefix(STEP_PREFIX)): folder / "actor"
        for folder in checkpoints.glob(f"{STEP_PREFIX}*")
        if folder.name.removeprefix(STEP_PREFIX).isdecimal() and (folder / "actor").is_dir()
    }
    if not found:
        raise TrainingError(
            f"verl left no checkpoint in {checkpoints}. Lower save_steps, so that it saves before it stops."
        )
    step = max(found)
    return step, found[step]


def merge(
    backend: Backend, shards: Path, base: Path, target: Path, *, log: Path, tick: Callable[[], None]
) -> None:
    """Put the merged checkpoint of `shards` in the place of `target`, with the tokenizer of `base`.

    Args:
        backend: How the shards were made.
        shards: The folder of the actor.
        base: The policy that the training began with.
        target: The folder of the merged checkpoint.
        log: What the merger says.
        tick: Called while it works.

    Raises:
        TrainingError: the merger fails, or leaves no whole checkpoint.
    """
    staged = target.with_name(f".{target.name}.merged")
    shutil.rmtree(staged, ignore_errors=True)
    _run(merge_command(backend, shards, staged, tied=_is_tied(base)), log, tick)
    if (staged / ADAPTER).is_dir():
        _merge_adapter(staged)
    for path in base.iterdir():  # the merger writes a tokenizer of its own making: ours stays what it was
        if path.is_file() and path.name != "config.json" and path.suffix != ".safetensors":
            shutil.copyfile(path, staged / path.name)
    require_checkpoint(staged)
    replace_tree(staged, target)


def _run(command: list[str], log: Path, tick: Callable[[], None]) -> None:
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=_environment())
        try:
            while process.poll() is None:
                tick()  # a merge is bounded by the disk: it needs no watch of its own
                try:
                    process.wait(1.0)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()
            process.wait()
    if process.returncode:
        raise TrainingError(
            f"verl's merger failed (exit code {process.returncode}): {' '.join(command)}\n{tail_of(log)}"
        )


def _environment() -> dict[str, str]:
    return {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}  # it works on the CPU


def _is_tied(base: Path) -> bool:
    return bool(json.loads((base / "config.json").read_bytes()).get("tie_word_embeddings"))


def _merge_adapter(folder: Path) -> None:
    """Add the adapter that the merger put beside the weights into them."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    merged = PeftModel.from_pretrained(model, folder / ADAPTER).merge_and_unload()
    merged.to(torch.bfloat16).save_pretrained(folder, safe_serialization=True)
    shutil.rmtree(folder / ADAPTER)
