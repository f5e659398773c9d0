"""Speed of rollouts: ours, one conversation at a time, and the floor of pure forward passes. No training.

`python benchmarks/rollout_speed.py [--checkpoint DIR] [--prompts 64]` prints a table; best of three passes,
CPU seconds, one thread.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_evo_dagster.training.environments.arithmetic import ArithmeticEnvironment
from agent_evo_dagster.training.policy.checkpoints import Policy, load_policy
from agent_evo_dagster.training.process_environment import prepare
from agent_evo_dagster.training.rollout.decoder import Decoder
from agent_evo_dagster.training.rollout.engine import roll_out
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.types import Sampling
from agent_evo_dagster.training.tool_calls.hermes import HermesFormat

PASSES = 3
SAMPLING = Sampling(1.0, 0)


class Bench:
    """One policy on one set of problems; every way returns (trajectories, tokens sampled)."""

    def __init__(self, policy: Policy, prompts: int) -> None:
        self.model, self.renderer = policy.model, ChatRenderer(policy.tokenizer)
        self.environment = ArithmeticEnvironment(HermesFormat())
        self.tasks = self.environment.tasks("dev", prompts, 0)
        self.lengths = [len(rollout.tokens) for rollout in self._roll_out()]

    def _roll_out(self) -> list[Any]:
        episodes = [self.environment.episode(task) for task in self.tasks]
        return roll_out(self.model, self.renderer, episodes, self.environment.limits, SAMPLING)

    def ours(self) -> tuple[int, int]:
        """All conversations in lock-step."""
        rollouts = self._roll_out()
        return len(rollouts), sum(rollout.sampled for rollout in rollouts)

    def one_at_a_time(self) -> tuple[int, int]:
        """Plain `generate`, turn by turn."""
        sampled = 0
        for task in self.tasks:
            episode = self.environment.episode(task)
            ids = list(self.renderer.prompt(episode.opening()))
            for _ in range(self.environment.limits.max_turns):
                turn = self._generate(ids)
                ids, sampled = ids + turn, sampled + len(turn)
                if turn[-1] != self.renderer.end_of_turn:
                    break
                reply = episode.act(self.renderer.text(turn[:-1]))
                if reply.done:
                    break
                ids += self.renderer.after_turn(reply.results)
        return len(self.tasks), sampled

    def floor(self) -> tuple[int, int]:
        """Forward passes of the shapes that ours has, where a row is dropped the moment it is done."""
        import torch

        prompts = [self.renderer.prompt(self.environment.episode(task).opening()) for task in self.tasks]
        lengths = list(self.lengths)
        with torch.inference_mode():
            decoder = Decoder(self.model, prompts, self.renderer.pad)
            decoder.prefill()
            for position in range(1, max(lengths)):
                live = [at for at, length in enumerate(lengths) if length > position]
                if len(live) < len(lengths):
                    decoder.keep(live)
                    lengths = [lengths[at] for at in live]
                decoder.step([self.renderer.pad] * len(lengths))
        return len(self.tasks), sum(self.lengths)

    def _generate(self, ids: list[int]) -> list[int]:
        import torch

        known = torch.tensor([ids])
        with torch.inference_mode():
            output = self.model.generate(
                known,
                attention_mask=torch.ones_like(known),
                do_sample=True,
                top_k=0,
                max_new_tokens=self.environment.limits.max_new_tokens,
                eos_token_id=self.renderer.end_of_turn,
                pad_token_id=self.renderer.pad,
            )
        return list(output[0, len(ids) :].tolist())


def measure(way: Callable[[], tuple[int, int]]) -> tuple[float, int, int]:
    """CPU seconds of the best pass, with its counts."""
    best = (float("inf"), 0, 0)
    for _ in range(PASSES):
        began = time.process_time()
        counts = way()
        best = min(best, (time.process_time() - began, *counts))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=None, help="default: the embedded base policy")
    parser.add_argument("--prompts", type=int, default=64)
    arguments = parser.parse_args()
    prepare(threads=1)
    import torch

    torch.set_num_threads(1)
    bench = Bench(load_policy(arguments.checkpoint), arguments.prompts)
    print(f"{'way':16} {'CPU s':>8} {'rollouts/s':>11} {'tokens/s':>10}")
    for way in (bench.ours, bench.one_at_a_time, bench.floor):
        seconds, rollouts, tokens = measure(way)
        print(f"{way.__name__:16} {seconds:8.3f} {rollouts / seconds:11.0f} {tokens / seconds:10.0f}")


if __name__ == "__main__":
    main()
