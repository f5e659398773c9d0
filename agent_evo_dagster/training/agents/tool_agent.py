"""The agent that calls tools in its model's own format."""

import json
from collections.abc import Sequence

from agent_evo_dagster.training.agents.base import BaseAgent
from agent_evo_dagster.training.agents.types import Action, Message
from agent_evo_dagster.training.rollout.types import Schema
from agent_evo_dagster.training.tool_calls.types import ToolCall


class ToolAgent(BaseAgent):
    """Asks the question as it is, and reads calls from each turn."""

    @property
    def schemas(self) -> Sequence[Schema]:
        """Its tools, where the chat template lists them."""
        return [tool.schema for tool in self.setup.tools] if self.setup.listing == "template" else ()

    def opening(self, question: str) -> list[Message]:
        """The question, after a list of the tools where the template has none."""
        asked = {"role": "user", "content": question}
        if self.setup.listing != "system":
            return [asked]
        return [{"role": "system", "content": self._instructions()}, asked]

    def act(self, text: str) -> Action:
        """The calls in `text`."""
        parsed = self.setup.call_format.parse(text, self.tool_names)
        return Action(text, parsed.items, parsed.recovered)

    def _instructions(self) -> str:
        tools = self.setup.tools
        listed = "\n".join(json.dumps(tool.schema["function"], ensure_ascii=False) for tool in tools)
        example = ToolCall(tools[0].name, dict.fromkeys(tools[0].parameters, "...")) if tools else None
        written = f"\n\nWrite a call like this:\n{self.setup.call_format.render(example)}" if example else ""
        return f"You may call these tools:\n{listed}{written}"
