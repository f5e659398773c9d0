"""When a training must stop: rules on its steps so far, each with its numbers. Findings are analysis."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from pydantic import BaseModel, ConfigDict, Field

from agent_evo_dagster.training.metrics import Values

LEAST_GRAD = 10.0  # a gradient norm that grows below this is noise: the healthy range ends here
GRAD_GROWTH = 1.5  # times the step before
LOSS_MOVES = 0.01  # as a share; a loss that moves less stands still
RATE = "rollout_tokens_per_second"


class BreakerSettings(BaseModel):
    """The numbers of the rules. A rule whose number is 0 is off."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    stop_lost_reward: int = Field(3, ge=0, le=1000, description="Stop: steps of reward 0 after two above 0.")
    stop_no_reward: int = Field(3, ge=0, le=1000, description="Stop: first steps of reward 0, loss at rest.")
    stop_rising_loss: int = Field(5, ge=0, le=1000, description="Stop: steps in which the loss only rose.")
    stop_loss_rise: float = Field(1.0, ge=0, description="Stop: how far those steps must raise the loss.")
    stop_grad_norm: float = Field(100.0, ge=0, description="Stop: a gradient norm above this.")
    stop_grad_growth: int = Field(3, ge=0, le=1000, description="Stop: steps of a norm up by half or more.")
    stop_entropy: float = Field(0.01, ge=0, description="Stop: nats; an entropy below it that falls 3 steps.")
    stop_slow_share: float = Field(
        0.0, ge=0, lt=1, description="Stop: share of tokens/s lost for 2 steps. Judged by a clock: off."
    )


def tripped(settings: BreakerSettings, steps: Sequence[Values]) -> str | None:
    """Why the training must stop after these steps, or nothing.

    Args:
        settings: the numbers of the rules.
        steps: metrics and timings of each step so far, oldest first; a value that was not finite is null.
    """
    return next((reason for rule in _RULES if (reason := rule(settings, steps))), None)


def _not_finite(settings: BreakerSettings, steps: Sequence[Values]) -> str | None:
    """NaN or infinity in what the optimiser just used; no number switches this off."""
    del settings
    bad = [name for name in ("loss", "grad_norm") if steps and steps[-1].get(name, 0.0) is None]
    return f"{' and '.join(bad)} not finite" if bad else None


def _lost_reward(settings: BreakerSettings, steps: Sequence[Values]) -> str | None:
    rewards, number = list(_of("reward", steps)), settings.stop_lost_reward
    if not number or len(rewards) < number + 2 or any(rewards[-number:]):
        return None
    before = sum(reward > 0 for reward in rewards[:-number])
    return f"reward 0 for {number} steps, after {before} above 0" if before >= 2 else None


def _no_reward(settings: BreakerSettings, steps: Sequence[Values]) -> str | None:
    rewards, losses = list(_of("reward", steps)), list(_of("loss", steps))
    number = settings.stop_no_reward
    if not number or len(steps) != number or len(rewards) < number or any(rewards):
        return None
    still = all(abs(after - before) <= LOSS_MOVES * abs(before) for before, after in pairwise(losses))
    return f"no reward in the first {number} steps, and the loss stands still" if still else None


def _rising_loss(settings: BreakerSettings, steps: Sequence[Values]) -> str | None:
    number = settings.stop_rising_loss
    losses = list(_of("loss", steps))[-number - 1 :]
    if not number or len(losses) <= number or any(after <= before for before, after in pairwise(losses)):
        return None
    if (rise := losses[-1] - losses[0]) < settings.stop_loss_rise:
        return None  # the loss of GRPO wanders around 0: a rise of noise is no sign
    return f"loss up in {number} steps in a row, by {rise:.3g}"


def _large_gradient(settings: BreakerSettings, steps: Sequence[Values]) -> str | None:
    norm = steps[-1].get("grad_norm") if steps else None
    if norm is None or not settings.stop_grad_norm or norm <= settings.stop_grad_norm:
        return None
    return f"gradient norm {norm:.4g}, above {settings.stop_grad_norm:g}"


def _growing_gradient(settings: BreakerSettings, steps: Sequence[Values]) -> str | None:
    number = settings.stop_grad_growth
    norms = list(_of("grad_norm", steps))[-number - 1 :]
    if not number or len(norms) <= number or norms[-1] < LEAST_GRAD:
        return None
    if any(after <= GRAD_GROWTH * before for before, after in pairwise(norms)):
        return None
    return f"gradient norm up by more than half in {number} steps in a row, to {norms[-1]:.4g}"


def _no_entropy(settings: BreakerSettings, steps: Sequence[Values]) -> str | None:
    values = list(_of("entropy", steps))[-4:]
    if len(values) < 4 or values[-1] >= settings.stop_entropy:
        return None
    falls = all(after < before for before, after in pairwise(values))
    return f"entropy fell in 3 steps in a row, to {values[-1]:.3g} nats" if falls else None


def _slow(settings: BreakerSettings, steps: Sequence[Values]) -> str | None:
    rates, share = list(_of(RATE, steps)), settings.stop_slow_share
    if not share or len(rates) < 5:
        return None
    usual = sum(rates[-5:-2]) / 3
    if max(rates[-2:]) >= (1 - share) * usual:
        return None
    return f"{rates[-1]:.3g} tokens/s for 2 steps, {usual:.3g} before"


def _of(name: str, steps: Sequence[Values]) -> Iterator[float]:
    """The finite values of a metric, oldest first."""
    return (value for step in steps if (value := step.get(name)) is not None)


_Rule = Callable[[BreakerSettings, Sequence[Values]], str | None]
_RULES: tuple[_Rule, ...] = (
    _not_finite,
    _lost_reward,
    _no_reward,
    _rising_loss,
    _large_gradient,
    _growing_gradient,
    _no_entropy,
    _slow,
)
