"""GRPO as plain tensor arithmetic, written from the papers: the oracle of what TRL computes.

Shapes: [rows, tokens] for what is per token, [rows] for advantages. Rows of one group are neighbours.
Sources: DeepSeekMath (arXiv 2402.03300) for GRPO and the k3 estimate of KL, DAPO (2503.14476) for `dapo` and
the asymmetric clip, Dr. GRPO (2503.20783) for `dr_grpo`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from agent_evo_dagster.training.config import TrainingConfig

STD_OFFSET = 1e-4


@dataclass(frozen=True)
class Batch:
    """What the loss needs beside the policy's own log-probabilities."""

    old: Tensor  # log-probabilities when the tokens were sampled
    reference: Tensor  # those of the reference policy
    mask: Tensor  # 1 where the policy chose the token
    advantages: Tensor


def log_probabilities(logits: Tensor, ids: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Of the chosen ids, and the entropy of each position; `logits` is [rows, tokens, vocabulary]."""
    logs = torch.log_softmax(logits.double() / temperature, -1)
    return logs.gather(-1, ids[..., None])[..., 0], -(logs.exp() * logs).sum(-1)


def grpo_loss(logs: Tensor, entropy: Tensor, batch: Batch, config: TrainingConfig) -> Tensor:
    """The scalar that is minimised."""
    ratio = torch.exp(logs - batch.old)
    clipped = ratio.clamp(1 - config.epsilon, 1 + config.epsilon_high)
    advantages = batch.advantages[:, None]
    tokens = -torch.minimum(ratio * advantages, clipped * advantages)
    difference = batch.reference - logs
    tokens = tokens + config.beta * ratio * (torch.exp(difference) - difference - 1)
    bonus = (entropy * batch.mask).sum() / batch.mask.sum()
    return _aggregated(tokens * batch.mask, batch.mask, config) - config.entropy_coef * bonus


def _aggregated(tokens: Tensor, mask: Tensor, config: TrainingConfig) -> Tensor:
    if config.loss_type == "grpo":  # a mean of means: each row weighs the same
        return (tokens.sum(-1) / mask.sum(-1).clamp(min=1)).mean()
    if config.loss_type == "dr_grpo":
        return tokens.sum() / (len(tokens) * config.max_completion_length)
    return tokens.sum() / mask.sum()  # dapo and bnpo: each token weighs the same


def advantages(rewards: Tensor, config: TrainingConfig) -> Tensor:
    """Of rewards [rows], against their group's mean, on the scale that the configuration names."""
    groups = rewards.view(-1, config.num_generations)
    centred = groups - groups.mean(-1, keepdim=True)
    if config.scale_rewards == "group":
        centred = centred / (groups.std(-1, keepdim=True) + STD_OFFSET)
    elif config.scale_rewards == "batch":
        centred = centred / (rewards.std() + STD_OFFSET)
    return centred.flatten()
