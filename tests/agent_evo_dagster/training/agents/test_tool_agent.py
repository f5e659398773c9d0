import json

import pytest

from agent_evo_dagster.training.agents.base import AgentSetup
from agent_evo_dagster.training.agents.tool_agent import ToolAgent
from agent_evo_dagster.training.agents.types import Step, Trajectory
from agent_evo_dagster.training.environments.math_calc import calculator_tool
from agent_evo_dagster.training.environments.tool_env import finish_tool
from agent_evo_dagster.training.environments.types import Reply, Task
from agent_evo_dagster.training.memory.simple import SimpleMemory
from agent_evo_dagster.training.tool_calls.registry import named_format
from agent_evo_dagster.training.tool_calls.types import ToolCall

TOOLS = (calculator_tool(), finish_tool())


def agent(listing="none", name="hermes", memory=None):
    return ToolAgent(AgentSetup(named_format(name), TOOLS, listing, memory))


def test_without_a_listing_the_prompt_is_the_question_alone():
    assert agent().opening("2+2?") == [{"role": "user", "content": "2+2?"}]
    assert agent().schemas == ()


def test_with_the_templates_listing_the_template_gets_the_schemas():
    assert [schema["function"]["name"] for schema in agent("template").schemas] == ["calculate", "finish"]
    assert len(agent("template").opening("2+2?")) == 1


@pytest.mark.parametrize("name", ["hermes", "qwen_xml", "llama_json", "openai"])
def test_a_system_message_lists_the_tools_and_shows_a_call_of_its_format(name):
    system, question = agent("system", name).opening("2+2?")
    assert system["role"] == "system"
    assert question == {"role": "user", "content": "2+2?"}
    listed = [json.loads(line) for line in system["content"].splitlines() if line.startswith('{"name": "ca')]
    assert listed[0]["name"] == "calculate"
    shown = named_format(name).render(ToolCall("calculate", {"expression": "..."}))
    assert system["content"].endswith(shown)


def test_a_turn_is_read_in_the_agents_format():
    call = ToolCall("calculate", {"expression": "1"})
    action = agent(name="qwen_xml").act(named_format("qwen_xml").render(call))
    assert action.items == (call,)
    assert agent(name="qwen_xml").act("words").items == ()


def test_the_conversation_in_words_has_every_turn_with_its_results():
    action = agent().act("one")
    so_far = Trajectory(
        Task("t", "q", "a"), ({"role": "user", "content": "q"},), (Step(action, Reply(("r",), done=False)),)
    )
    assert [message["role"] for message in so_far.messages] == ["user", "assistant", "tool"]
    assert agent().shortened(so_far, 100, len) is None
    assert agent(memory=SimpleMemory()).shortened(so_far, 100, len) == so_far.messages
