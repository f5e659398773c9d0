"""The agent loop that verl runs: our environments and token bookkeeping on verl's sampling engine.

verl makes an instance for each rollout and calls `run`. What verl's classes are is not known at import.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.backends.verl_rows import Row, append_row
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.environment_choice import environment_of, rollout_limits
from agent_evo_dagster.training.environments.types import Episode, Score
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.slot import Slot
from agent_evo_dagster.training.rollout.taxonomy import failed, trains
from agent_evo_dagster.training.rollout.turns import Turn, TurnRequest, next_request, take_turn
from agent_evo_dagster.training.rollout.types import Trajectory


@dataclass(frozen=True)
class Made:
    """A finished rollout with its score, and the version of the weights where the engine tells it."""

    trajectory: Trajectory
    score: Score
    version: int | None


class AgentEvoLoop:
    """One rollout. `config` and `rows` are paths that agent_loop.yaml gives; the rest is verl's."""

    def __init__(self, config: str, rows: str, server_manager: Any, tokenizer: Any, **_: Any) -> None:
        self._config = TrainingConfig.model_validate_json(Path(config).read_bytes())
        self._rows = Path(rows)
        self._server = server_manager
        self._renderer = ChatRenderer(tokenizer)
        self._versions: list[int] = []

    async def run(self, sampling_params: dict[str, Any], **sample: Any) -> Any:
        """Attempt the task of `sample`, a row of the dataset; gives verl's AgentLoopOutput.

        Raises:
            TrainingError: the environment failed. verl then drops the group and makes another.
        """
        from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput

        extra = dict(sample["extra_info"])
        environment = environment_of(self._config, self._renderer.chat_template)
        episode = environment.episode(environment.task(str(extra["task_id"])))
        key = f"{sample['uid']}_{int(sample.get('session_id', 0))}_0"
        made = await self.attempt(episode, key, sampling_params)
        row = self._row(key, int(sample.get("global_steps", 0)), str(extra["split"]), episode, made)
        await asyncio.to_thread(append_row, self._rows, row)
        trained = trains(made.trajectory.finish, self._config.truncated)
        return AgentLoopOutput(
            prompt_ids=list(row.prompt_ids),
            response_ids=list(row.completion_ids),
            response_mask=list(row.response_mask) if trained else [0] * len(row.response_mask),
            response_logprobs=list(row.logprobs),
            reward_score=row.reward,
            num_turns=2 * row.turns,
            metrics=AgentLoopMetrics(),
            extra_fields={
                "reward_extra_info": {**row.components, "acc": float(row.correct)},
                "min_global_steps": min(self._versions, default=None),
                "max_global_steps": max(self._versions, default=None),
                "turn_scores": [],
                "tool_rewards": [],
            },
        )

    async def attempt(self, episode: Episode, key: str, sampling: Mapping[str, Any]) -> Made:
        """The whole conversation: turns from verl's engine, answers from the environment.

        Raises:
            TrainingError: the environment failed, or the engine answered what was not asked for.
        """
        limits = rollout_limits(self._config)
        slot = await asyncio.to_thread(Slot, episode, self._renderer, limits)
        number = 0
        while slot.finish is None:
            request = next_request(slot, number)
            turn = await self._sample(request, key, sampling)
            # in a thread: an environment may take its time, and other rollouts share this loop
            await asyncio.to_thread(take_turn, slot, request, turn, self._renderer.end_of_turn)
            number += 1
        trajectory = slot.trajectory()
        if failed(trajectory.finish):
            raise TrainingError(f"The environment of {episode.task.task_id} failed: {trajectory.error}")
        return Made(trajectory, episode.score(), min(self._versions, default=None))

    async def _sample(self, request: TurnRequest, key: str, sampling: Mapping[str, Any]) -> Turn:
        params = {
            **sampling,
            "logprobs": True,
            "max_tokens": request.max_tokens,
            "ignore_eos": True,
            "stop_token_ids": [self._renderer.end_of_turn],
        }
        output = await self._server.generate(
            request_id=key, prompt_ids=list(request.context), sampling_params=params
        )
        if output.log_probs is None:
            raise TrainingError("verl's engine gave no log-probabilities (rollout.calculate_log_probs).")
        version = (output.extra_fields or {}).get("min_global_steps")
        if version is not None:
            self._versions.append(int(version))
        return Turn(tuple(output.token_ids), tuple(map(float, output.log_probs)))

    def _row(self, key: str, step: int, split: str, episode: Episode, made: Made) -> Row:
        trajectory, use = made.trajectory, episode.tool_use()
        return Row(
            key=key,
            step=step,
            policy_version=made.version,
            split=split,
            task_id=episode.task.task_id,
            prompt=episode.task.question,
            answer=episode.task.answer,
            prompt_ids=trajectory.prompt_ids,
            completion_ids=tuple(trajectory.completion_ids),
            logprobs=tuple(trajectory.logprobs),
            response_mask=tuple(trajectory.response_mask),
            text=self._renderer.text(trajectory.completion_ids),
            reward=made.score.reward,
            correct=made.score.correct,
            components=dict(made.score.components),
            finish=str(trajectory.finish),
            turns=trajectory.turns,
            tool_calls=use.calls,
            tool_errors=use.errors,
        )
