"""Demonstrations for the warm-up: what good, lazy and clumsy agents write, answered by the environment."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent_evo_dagster.training.environments.arithmetic import ArithmeticEnvironment
from agent_evo_dagster.training.environments.calculator import calculate
from agent_evo_dagster.training.environments.math_calc import CALCULATE
from agent_evo_dagster.training.environments.problems import expression_of
from agent_evo_dagster.training.environments.tool_env import FINISH
from agent_evo_dagster.training.environments.types import Task
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.tool_calls.hermes import HermesFormat
from agent_evo_dagster.training.tool_calls.types import ToolCall

CLEAN: Mapping[str, float] = {"correct": 1.0}


@dataclass(frozen=True)
class Demonstration:
    """Token ids of a whole conversation; `learnt` is 1 on those that the policy has to write."""

    ids: tuple[int, ...]
    learnt: tuple[int, ...]


class Demonstrator:
    """Plays habits through the real environment, so that the token layout is that of rollouts."""

    def __init__(self) -> None:
        self._format = HermesFormat()
        self._environment = ArithmeticEnvironment(self._format)

    def turns(self, task: Task, habit: str, rng: random.Random) -> list[str]:
        """What an agent of this habit writes, turn by turn; it reads the tool result where it uses one."""
        expression = expression_of(task.task_id)
        if habit == "lazy":
            return [self._finish(str(rng.randint(2, 10 ** max(1, len(task.answer)) - 1)))]
        if habit == "malformed":
            good = self._calculate(expression)
            return [good.replace('"}}', ""), self._finish("0")]
        if habit == "wrong_operator":
            sign = re.search(r"[-+*]", expression)
            assert sign is not None
            other = rng.choice([candidate for candidate in "+-*" if candidate != sign.group()])
            expression = expression[: sign.start()] + other + expression[sign.end() :]
        seen = str(calculate(expression))
        if habit == "wrong_finish":
            seen = rng.choice(re.findall(r"\d+", expression))
        return [self._calculate(expression), self._finish(seen)]

    def encode(self, task: Task, habit: str, rng: random.Random, renderer: ChatRenderer) -> Demonstration:
        """The conversation as ids, with the environment's own replies."""
        episode = self._environment.episode(task)
        ids = list(renderer.prompt(episode.opening()))
        learnt = [0] * len(ids)
        for turn in self.turns(task, habit, rng):
            written = [*renderer.encode(turn), renderer.end_of_turn]
            reply = episode.act(turn)
            answer = () if reply.done else renderer.after_turn(reply.results)
            ids += [*written, *answer]
            learnt += [1] * len(written) + [0] * len(answer)
        return Demonstration(tuple(ids), tuple(learnt))

    def corpus(self, tasks: list[Task], rng: random.Random) -> list[str]:
        """Plain text like that of conversations, to learn a vocabulary from; tool tags left out."""
        tags = re.compile(r"</?tool_call>")
        texts = []
        for task in tasks:
            texts.append(f"user\n{task.question}\nassistant\ntool\nError: the tool call is not valid JSON")
            texts += [tags.sub("", turn) for turn in self.turns(task, "correct", rng)]
        return texts

    def _calculate(self, expression: str) -> str:
        return self._format.render(ToolCall(CALCULATE, {"expression": expression}))

    def _finish(self, response: str) -> str:
        return self._format.render(ToolCall(FINISH, {"response": response}))


def draw_habit(mix: Mapping[str, float], rng: random.Random) -> str:
    """One habit, by its share in `mix`."""
    return rng.choices(list(mix), list(mix.values()))[0]
