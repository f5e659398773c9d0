"""The ways to roll out the same tasks: ours, one at a time, TRL's tool loop, and pure forward passes.

Each is a call with a seed that gives the CPU seconds it took, and what it made of them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from agent_evo_dagster.training.environments.arithmetic import ArithmeticEnvironment
from agent_evo_dagster.training.policy.checkpoints import Policy
from agent_evo_dagster.training.rollout import engine
from agent_evo_dagster.training.rollout.decoder import Decoder
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.types import Sampling, Trajectory
from agent_evo_dagster.training.tool_calls.hermes import HermesFormat
from benchmarks.rollout_speed_trl import TrlLoop

TEMPERATURE = 1.0
Made = TypeVar("Made")


@dataclass(frozen=True)
class Pass:
    """One pass over all tasks."""

    seconds: float  # of the processor
    sampled: int  # tokens of the policy's own


class Ways:
    """One policy on one set of problems."""

    def __init__(self, policy: Policy, prompts: int) -> None:
        self.policy = policy
        self.renderer = ChatRenderer(policy.tokenizer)
        self.environment = ArithmeticEnvironment(HermesFormat())
        self.tasks = self.environment.tasks("dev", prompts, 0)
        self._shapes: dict[int, tuple[Shapes, int]] = {}

    def roll_out(self, temperature: float, seed: int) -> list[Trajectory]:
        """Ours, over the tasks in their order."""
        episodes = [self.environment.episode(task) for task in self.tasks]
        sampling = Sampling(temperature, seed)
        return engine.roll_out(self.policy.model, self.renderer, episodes, self.environment.limits, sampling)

    def ours(self, seed: int) -> Pass:
        """All conversations together."""
        rollouts, seconds = timed(lambda: self.roll_out(TEMPERATURE, seed))
        return Pass(seconds, sum(rollout.sampled for rollout in rollouts))

    def trl(self, seed: int) -> Pass:
        """TRL's trainer with tools: one `generate` over the conversations that go on, turn by turn."""
        loop = self.trl_loop
        _seed(seed)
        loop.run()
        return Pass(loop.seconds, loop.sampled)

    @cached_property
    def trl_loop(self) -> TrlLoop:
        """TRL's trainer, made when it is first asked for."""
        return TrlLoop(self.policy, [self.environment.episode(task).opening() for task in self.tasks])

    def one_at_a_time(self, seed: int) -> Pass:
        """Plain `generate`, one conversation after the other, turn by turn."""
        _seed(seed)
        sampled, seconds = timed(lambda: sum(self._alone(task) for task in self.tasks))
        return Pass(seconds, sampled)

    def floor(self, seed: int) -> Pass:
        """The forward passes that ours makes, and nothing else: no episodes, no sampling, no text."""
        if seed not in self._shapes:
            self._shapes[seed] = self._recorded(seed)
        shapes, sampled = self._shapes[seed]
        _, seconds = timed(lambda: shapes.replay(self.policy.model, self.renderer.pad))
        return Pass(seconds, sampled)

    def _recorded(self, seed: int) -> tuple["Shapes", int]:
        shapes = Shapes()
        engine.Decoder = shapes.recorder()  # type: ignore[misc]
        try:
            rollouts = self.roll_out(TEMPERATURE, seed)
        finally:
            engine.Decoder = Decoder  # type: ignore[misc]
        return shapes, sum(rollout.sampled for rollout in rollouts)

    def _alone(self, task: Any) -> int:
        """Tokens sampled in one conversation."""
        episode, limits = self.environment.episode(task), self.environment.limits
        ids, sampled = list(self.renderer.prompt(episode.opening())), 0
        for _ in range(limits.max_turns):
            turn = self._generate(ids)
            ids, sampled = ids + turn, sampled + len(turn)
            if turn[-1] != self.renderer.end_of_turn:
                break
            reply = episode.act(self.renderer.text(turn[:-1]))
            if reply.done:
                break
            ids += self.renderer.after_turn(reply.results)
        return sampled

    def _generate(self, ids: list[int]) -> list[int]:
        import torch

        known = torch.tensor([ids])
        with torch.inference_mode():
            output = self.policy.model.generate(
                known,
                attention_mask=torch.ones_like(known),
                do_sample=True,
                temperature=TEMPERATURE,
                top_k=0,
                max_new_tokens=self.environment.limits.max_new_tokens,
                eos_token_id=self.renderer.end_of_turn,
                pad_token_id=self.renderer.pad,
            )
        return list(output[0, len(ids) :].tolist())


class Shapes:
    """What a decoder was asked for, to be asked again."""

    def __init__(self) -> None:
        self._asked: list[tuple[str, Any]] = []

    def recorder(self) -> type[Decoder]:
        """A decoder that writes down here what it is asked for."""
        asked = self._asked

        class Recorder(Decoder):
            def __init__(self, model: Any, prompts: Sequence[Sequence[int]], pad: int) -> None:
                asked.append(("begin", prompts))
                super().__init__(model, prompts, pad)

            def step(self, *tokens: Sequence[int]) -> Any:
                asked.append(("step", tokens))
                return super().step(*tokens)

            def keep(self, rows: Sequence[int]) -> None:
                asked.append(("keep", rows))
                super().keep(rows)

        return Recorder

    def replay(self, model: Any, pad: int) -> None:
        """Make the same passes with a plain decoder."""
        import torch

        with torch.inference_mode():
            for what, given in self._asked:
                if what == "begin":
                    decoder = Decoder(model, given, pad)
                    decoder.prefill()
                elif what == "step":
                    decoder.step(*given)
                else:
                    decoder.keep(given)


def timed(call: Callable[[], Made]) -> tuple[Made, float]:
    """What a call gives, and the CPU seconds it took."""
    began = time.process_time()
    made = call()
    return made, time.process_time() - began


def _seed(seed: int) -> None:
    """For the ways that draw from torch's own generator."""
    import torch

    torch.manual_seed(seed)
