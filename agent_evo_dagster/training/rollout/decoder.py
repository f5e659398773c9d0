"""Lock-step decoding of a left-padded batch with a cache, on any causal language model of transformers.

It knows token ids alone: neither turns nor sampling.
"""

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

MOST_TOKENS = 32  # of a row in one step: bounds the memory of the pass


class Decoder:
    """The forward state of a batch of rows, all longer by as many tokens after every step.

    `most` is how many tokens a step may append: 1 where the model's cache is not of attention alone.
    """

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], pad: int) -> None:
        import torch
        from transformers import DynamicCache
        from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

        longest = max(map(len, prompts))
        self.pad = pad
        self._model = model
        self._names = set(inspect.signature(model.forward).parameters)
        self._device = model.device
        self._cache = DynamicCache(config=model.config)
        attends = {type(layer) for layer in self._cache.layers} <= {DynamicLayer, DynamicSlidingWindowLayer}
        self.most = MOST_TOKENS if attends else 1
        padded = [[pad] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        self._mask = torch.tensor(
            [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=self._device
        )
        self._lengths = self._mask.sum(-1, keepdim=True)
        self._ids = torch.tensor(padded, device=self._device)

    def prefill(self) -> "Tensor":
        """Logits after the prompts, [rows, vocabulary]."""
        positions = (self._mask.cumsum(-1) - 1).clamp(min=0)
        return self._forward(self._ids, positions)

    def step(self, *tokens: Sequence[int]) -> "Tensor":
        """Append one token to each row, or several in turn; logits after the last, [rows, vocabulary].

        Each of `tokens` has one token for every row; there are at most `most` of them.
        """
        import torch

        ids = torch.tensor(tokens, device=self._device).T
        self._mask = torch.cat([self._mask, torch.ones_like(ids)], dim=-1)
        positions = self._lengths + torch.arange(len(tokens), device=self._device)
        self._lengths = self._lengths + len(tokens)
        return self._forward(ids, positions)

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all rows but these, given by their index among the present ones."""
        import torch

        index = torch.tensor(rows, device=self._device)
        self._cache.batch_select_indices(index)
        self._mask = self._mask[index]
        self._lengths = self._lengths[index]

    def _forward(self, ids: "Tensor", positions: "Tensor") -> "Tensor":
        output = self._model(
            input_ids=ids,
            attention_mask=self._mask,
            position_ids=positions,
            use_cache=True,
            **self._version_dependent(),
        )
        logits: Tensor = output.logits[:, -1]
        return logits

    def _version_dependent(self) -> dict[str, Any]:
        """Arguments whose name or presence differs between versions and models of transformers."""
        cache = "cache" if "cache" in self._names else "past_key_values"
        return {cache: self._cache, **({"logits_to_keep": 1} if "logits_to_keep" in self._names else {})}
