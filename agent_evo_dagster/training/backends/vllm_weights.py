"""Weights on their way to a server: a copy that can be reloaded, and proof that they arrived.

Reloading is where servers are wrong in silence. vLLM 0.32 on a CPU keeps a packed copy of a tied output
layer, so that new embeddings answer through the old one; the answers look well and belong to no policy.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_evo_dagster.errors import InferenceError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.training.rollout.turns import Turn

EMBEDDINGS = "model.embed_tokens.weight"
OUTPUT = "lm_head.weight"
PROBE_TOKENS = 16
TOLERANCES = {"float32": 0.01, "float16": 0.1}  # of one log-probability
COARSE_TOLERANCE = 0.3  # bfloat16, or whatever the server chose


def untie(folder: Path) -> None:
    """Give the checkpoint in `folder` an output layer of its own where it shares the embeddings.

    Raises:
        InferenceError: the embeddings are not where they are looked for.
    """
    path = folder / "config.json"
    config = json.loads(path.read_bytes())
    if not config.get("tie_word_embeddings"):
        return
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    if EMBEDDINGS not in weights:
        raise InferenceError(
            f"The policy shares its embeddings with its output layer and has no {EMBEDDINGS}, so its weights "
            "cannot be reloaded safely. Sample with `inference: local`."
        )
    weights[OUTPUT] = weights[EMBEDDINGS].clone()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    write_atomic(path, json.dumps({**config, "tie_word_embeddings": False}, indent=2).encode())


def require_same(model: Any, prompt: Sequence[int], sampled: Turn, dtype: str, where: str) -> None:
    """Compare the log-probabilities that a server gave with those of `model`, which it should hold.

    Raises:
        InferenceError: they are of other weights.
    """
    tolerance = TOLERANCES.get(dtype, COARSE_TOLERANCE)
    own = _logprobs(model, prompt, sampled.ids)
    worst = max(abs(one - other) for one, other in zip(own, sampled.logprobs, strict=True))
    if worst > tolerance:
        raise InferenceError(
            f"After a reload {where} does not answer with the weights that it was given: a log-probability "
            f"is off by {worst:.3g}, more than {tolerance:g} for {dtype}. Its version reloads this model "
            "wrongly; let the job start a server of its own, or sample with `inference: local`."
        )


def _logprobs(model: Any, prompt: Sequence[int], completion: Sequence[int]) -> list[float]:
    import torch

    with torch.inference_mode():
        ids = torch.tensor([[*prompt, *completion]], device=model.device)
        logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1].float()
        chosen = torch.tensor(list(completion), device=model.device)[:, None]
        values: list[float] = torch.log_softmax(logits, -1).gather(1, chosen)[:, 0].tolist()
    return values
