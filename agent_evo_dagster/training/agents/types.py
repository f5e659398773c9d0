"""The vocabulary of agents: messages, actions, steps, and a conversation in words.

The same conversation in token ids is rollout.types.Trajectory, which is what is trained on.
"""

from dataclasses import dataclass

from agent_evo_dagster.training.environments.types import Reply, Task
from agent_evo_dagster.training.tool_calls.types import Diagnostic, Fault, ToolCall

Message = dict[str, str]  # role and content


@dataclass(frozen=True)
class Action:
    """What one assistant turn asks for: calls and faults in the order of the text."""

    text: str
    items: tuple[ToolCall | Diagnostic, ...] = ()
    recovered: tuple[Fault, ...] = ()  # of the calls that were read in spite of a fault


@dataclass(frozen=True)
class Step:
    """One turn and what the environment answered."""

    action: Action
    reply: Reply


@dataclass(frozen=True)
class Trajectory:
    """One attempt at a task, in words: what was said before the first turn, and each turn with its answer."""

    task: Task
    opening: tuple[Message, ...]
    steps: tuple[Step, ...]

    @property
    def messages(self) -> list[Message]:
        """The whole conversation as chat messages."""
        said = list(self.opening)
        for step in self.steps:
            said.append({"role": "assistant", "content": step.action.text})
            said += [{"role": "tool", "content": result} for result in step.reply.results]
        return said
