"""Tools and rewards that a person wrote, in the shapes that are accepted. Finding them is in plugins."""

from collections.abc import Callable, Sequence
from typing import cast

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.environments.rewards import Outcome, Reward
from agent_evo_dagster.training.environments.tools import Tool
from agent_evo_dagster.training.environments.types import Score, components
from agent_evo_dagster.training.plugins import load_object


class FunctionReward:
    """A function of the outcome as a reward of one component, which has the function's name."""

    def __init__(self, function: Callable[[Outcome], float], name: str) -> None:
        self._function = function
        self.names = (name,)

    def __call__(self, outcome: Outcome) -> Score:
        """The function's number; whether the answer is right is told by the answer alone."""
        return Score(components(**{self.names[0]: float(self._function(outcome))}), outcome.correct)


def own_reward(reference: str) -> Reward:
    """The reward that `reference` names: a function, an object with `names`, or the class of one.

    Raises:
        TrainingError: it is none of these.
    """
    found = load_object(reference, "reward")
    reward = found() if isinstance(found, type) else found
    if not callable(reward):
        raise TrainingError(f"reward = {reference!r} cannot be called with an outcome.")
    if hasattr(reward, "names"):
        return cast(Reward, reward)  # the person's own type: its scores are checked one by one
    return FunctionReward(reward, getattr(reward, "__name__", "reward"))


def own_tools(reference: str) -> tuple[Tool, ...]:
    """The tools that `reference` names: one, or several in a list.

    Raises:
        TrainingError: something among them is no tool, or two have one name.
    """
    found = load_object(reference, "tools")
    tools = tuple(found) if isinstance(found, Sequence) else (found,)
    names = [tool.name for tool in tools if isinstance(tool, Tool)]
    if len(names) != len(tools) or len(set(names)) != len(names) or "finish" in names or not names:
        raise TrainingError(
            f"tools = {reference!r} must name Tool objects of different names, none of them 'finish'; found "
            f"{', '.join(names) or 'none'} in {len(tools)}."
        )
    return tuple(tool for tool in tools if isinstance(tool, Tool))
