"""The seam of rollouts: the model in this process, or a server that holds a copy of it."""

from collections.abc import Sequence
from typing import Any, Protocol

from agent_evo_dagster.training.environments.types import Episode
from agent_evo_dagster.training.rollout.engine import roll_out
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.types import Limits, Sampling, Tick, Trajectory


class Engine(Protocol):
    """Something that attempts episodes with one policy."""

    @property
    def renderer(self) -> ChatRenderer:
        """How the policy's conversations become token ids."""
        ...

    def update(self, model: Any) -> None:
        """Sample from the weights that `model` has now."""
        ...

    def attempt(
        self, episodes: Sequence[Episode], limits: Limits, sampling: Sampling, *, tick: Tick
    ) -> list[Trajectory]:
        """Trajectories in the order of `episodes`."""
        ...


class LocalEngine:
    """The model of this process, decoded here."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.renderer = ChatRenderer(tokenizer)
        self._model = model

    def update(self, model: Any) -> None:
        """The model itself is what is decoded: take it."""
        self._model = model

    def attempt(
        self, episodes: Sequence[Episode], limits: Limits, sampling: Sampling, *, tick: Tick
    ) -> list[Trajectory]:
        """Lock-step decoding on the model's device."""
        return roll_out(self._model, self.renderer, episodes, limits, sampling, tick=tick)
