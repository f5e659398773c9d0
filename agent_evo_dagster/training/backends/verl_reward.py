"""The reward function that verl is configured with: a guard, since environments score their own episodes."""

from typing import Any

from agent_evo_dagster.errors import TrainingError


def compute_score(data_source: str, solution_str: str, ground_truth: str, **_: Any) -> float:
    """Refuse: a rollout that arrives here was not made by our agent loop, and has no score of its own.

    Raises:
        TrainingError: always.
    """
    del solution_str, ground_truth
    raise TrainingError(
        f"verl asks for the reward of a rollout of {data_source!r} from its text. Rollouts are scored by "
        "their environment, in the agent loop that agent_loop.yaml names: is another loop in use?"
    )
