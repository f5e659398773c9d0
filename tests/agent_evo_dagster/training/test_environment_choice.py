import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.engines import LocalEngine
from agent_evo_dagster.training.environment_choice import environment_for, environment_of, rollout_limits
from agent_evo_dagster.training.rollout.types import Limits
from agent_evo_dagster.training.tool_calls.registry import named_format
from agent_evo_dagster.training.tool_calls.types import ToolCall

WITH_TOOLS = "{{ tools }} <tool_call>"
CALL = ToolCall("calculate", {"expression": "1+2"})


def episode(template=WITH_TOOLS, task="plus-27-45", **settings):
    environment = environment_of(TrainingConfig(**settings), template)
    return environment.episode(environment.task(task))


def test_by_default_it_is_the_environment_of_the_embedded_policy(policy, environment):
    engine = LocalEngine(policy.model, policy.tokenizer)
    chosen = environment_for(TrainingConfig(), engine, lambda: None)
    assert chosen.tasks("dev", 5, 0) == environment.tasks("dev", 5, 0)
    assert chosen.reward_names == environment.reward_names
    limits = chosen.limits
    assert (limits.max_turns, limits.max_new_tokens, limits.max_completion_length) == (3, 40, 96)
    assert chosen.inputs == {}
    task = chosen.task("plus-27-45")
    assert chosen.episode(task).opening() == environment.episode(task).opening()
    assert not chosen.episode(task).blocking


def test_the_binary_reward_has_one_component():
    assert environment_of(TrainingConfig(reward="binary"), WITH_TOOLS).reward_names == ("correct",)


@pytest.mark.parametrize(
    ("template", "listed"), [(WITH_TOOLS, "template"), ("<tool_call>", "system"), (WITH_TOOLS, "none")]
)
def test_tools_are_listed_where_the_policy_does_not_know_them(template, listed):
    environment = "arithmetic" if listed == "none" else "math_calc"
    attempt = episode(template, environment=environment)
    assert bool(attempt.schemas) == (listed == "template")
    assert len(attempt.opening()) == (2 if listed == "system" else 1)


@pytest.mark.parametrize("name", ["hermes", "qwen_xml", "llama_json", "openai"])
def test_a_format_that_is_set_is_the_one_that_is_read(name):
    attempt = episode(tool_format=name)
    attempt.opening()
    assert attempt.act(named_format(name).render(CALL)).results == ("3",)


def test_the_format_is_told_by_the_template_unless_it_is_set():
    attempt = episode("{{ tools }}<function=a><parameter=b>")
    assert attempt.act(named_format("qwen_xml").render(CALL)).results == ("3",)
    with pytest.raises(TrainingError, match="Set tool_format"):
        episode("plain")


def test_without_a_policy_there_are_tasks_and_no_attempts():
    environment = environment_of(TrainingConfig())
    task = environment.tasks("train", 1, 0)[0]
    with pytest.raises(TrainingError, match="needs the policy's chat template"):
        environment.episode(task)
    assert environment_of(TrainingConfig(tool_format="hermes")).episode(task).task == task


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"environment": "x.py:E", "reward": "binary"}, "scores itself"),
        ({"environment": "x.py:E", "tools": "t.py:T"}, "brings its own"),
        ({"environment": "math_calc", "engine_wrapper": "w.py"}, "beside engine_wrapper"),
        ({"tools": "t.py:T"}, "use math_calc"),
        ({"environment": "tools"}, "environment=tools without tools"),
        ({"summary_fallback": "extract"}, "without memory=summary"),
        ({"agent": "tol"}, "agent = 'tol' is none of tool"),
    ],
)
def test_settings_that_would_have_no_effect_are_refused(settings, said):
    with pytest.raises(TrainingError, match=said):
        environment_of(TrainingConfig(**settings), WITH_TOOLS)


def test_tools_of_ones_own_stand_beside_the_calculator_or_alone(tmp_path):
    (tmp_path / "t.py").write_text(
        "from agent_evo_dagster.training.environments.tools import Tool\n"
        "T = [Tool('look', 'Look.', {}, lambda: 'seen')]\n"
    )
    look = named_format("hermes").render(ToolCall("look", {}))
    calculate = named_format("hermes").render(CALL)
    both = episode(environment="math_calc", tools=f"{tmp_path}/t.py:T")
    assert both.blocking
    assert both.act(look + calculate).results == ("seen", "3")
    alone = episode(environment="tools", tools=f"{tmp_path}/t.py:T")
    assert alone.act(look + calculate).results == ("seen", "Error: no such tool")


def test_a_wrapper_brings_environment_and_agent_and_gets_the_agents_name(tmp_path):
    (tmp_path / "w.py").write_text(
        "from agent_evo_dagster.training.agents.tool_agent import ToolAgent\n"
        "from agent_evo_dagster.training.agents.wrapper import EngineWrapper\n"
        "from agent_evo_dagster.training.environments.math_calc import MathCalcEnv\n"
        "from agent_evo_dagster.training.environments.rewards import BinaryReward\n"
        "class Polite(ToolAgent):\n"
        "    def opening(self, question): return [{'role': 'user', 'content': 'Please: ' + question}]\n"
        "class Wrapper(EngineWrapper):\n"
        "    def environment(self, task): return MathCalcEnv(task, BinaryReward())\n"
        "    def agent(self, setup): return Polite(setup) if self.agent_name == 'polite' else None\n"
    )
    attempt = episode(engine_wrapper=f"{tmp_path}/w.py", agent="polite")
    assert attempt.opening()[0]["content"].startswith("Please: What is")


def test_a_memory_without_a_summariser_fails_unless_a_fallback_is_asked_for():
    def filled(**settings):
        attempt = episode(memory="summary", **settings)
        attempt.opening()
        for _ in range(3):
            attempt.act(named_format("hermes").render(CALL))
        return attempt.shortened(1000, lambda messages: sum(len(each["content"]) for each in messages))

    with pytest.raises(TrainingError, match="no summary"):
        filled()
    assert "So far:" in filled(summary_fallback="extract")[0]["content"]


def test_limits_of_rollouts_are_the_configurations():
    config = TrainingConfig(max_turns=5, context_length=1000, turn_seconds=9, rollout_seconds=60)
    assert rollout_limits(config) == Limits(5, 40, 96, 1000, 9, 60)
    assert rollout_limits(TrainingConfig()).context_length is None
    assert rollout_limits(TrainingConfig()).rollout_seconds is None
