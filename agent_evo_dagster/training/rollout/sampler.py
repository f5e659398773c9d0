"""Choosing tokens from logits, reproducibly. No model, no episode."""

from typing import TYPE_CHECKING

from agent_evo_dagster.training.rollout.types import Sampling

if TYPE_CHECKING:
    import torch
    from torch import Tensor

WITHOUT_FLOAT64 = frozenset({"mps"})  # devices, as torch names their types


class Sampler:
    """Draws by inverting the distribution at uniform numbers fixed beforehand, one a row and position.

    A row's tokens therefore do not depend on which other rows are still alive, and two policies that are
    compared with the same seed meet the same luck.
    """

    def __init__(self, sampling: Sampling, rows: int, positions: int) -> None:
        import torch

        self._temperature = sampling.temperature
        self._positions = positions
        self._generator = torch.Generator().manual_seed(sampling.seed)
        self._uniform = torch.rand(rows, positions, generator=self._generator, dtype=torch.float64)

    def choose(
        self, logits: "Tensor", rows: list[int], positions: int | list[int]
    ) -> tuple[list[int], list[float]]:
        """Token and log-probability for each of `rows`; `logits` is [rows, vocabulary].

        Positions are those of the tokens in their rollouts: one number where all rows are as long.
        """
        import torch

        if not self._temperature:
            tokens = logits.argmax(-1, keepdim=True)
            logprobs = torch.log_softmax(logits.float(), -1)
        else:
            logprobs = torch.log_softmax(logits.float() / self._temperature, -1)
            reached = logprobs.to(summing_type(logits.device.type)).exp().cumsum(-1)
            wanted = below_one(self._numbers(rows, positions), reached.dtype).to(reached.device)
            wanted = wanted[:, None] * reached[:, -1:]
            # right=True: the first token whose cumulative probability exceeds the number,
            # which is never one of probability 0.
            tokens = torch.searchsorted(reached, wanted, right=True).clamp_(max=logits.shape[-1] - 1)
        return tokens[:, 0].tolist(), logprobs.gather(1, tokens)[:, 0].tolist()

    def _numbers(self, rows: list[int], positions: int | list[int]) -> "Tensor":
        """The uniform numbers at `positions`; more of them are drawn where a conversation was shortened."""
        import torch

        last = positions if isinstance(positions, int) else max(positions)
        while last >= self._uniform.shape[1]:
            shape = (self._uniform.shape[0], self._positions)
            more = torch.rand(*shape, generator=self._generator, dtype=torch.float64)
            self._uniform = torch.cat([self._uniform, more], dim=1)
        if isinstance(positions, int):
            return self._uniform[:, positions][torch.tensor(rows)]
        return self._uniform[torch.tensor(rows), torch.tensor(positions)]


def summing_type(device: str) -> "torch.dtype":
    """What probabilities are added up in on a type of device: float64, wherever it is to be had."""
    import torch

    return torch.float32 if device in WITHOUT_FLOAT64 else torch.float64


def below_one(numbers: "Tensor", dtype: "torch.dtype") -> "Tensor":
    """Uniform numbers of [0, 1) as `dtype`, where rounding may not make a 1 of them.

    A number below 1 times a sum is below that sum, rounded as well: some token is always beyond it.
    """
    import torch

    return numbers.to(dtype).clamp(max=1 - torch.finfo(dtype).eps / 2)
