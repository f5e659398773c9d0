import pytest

from agent_evo_dagster.training.environments.arithmetic import ArithmeticEnvironment
from agent_evo_dagster.training.environments.types import ToolUse
from agent_evo_dagster.training.tool_calls.hermes import HermesFormat
from agent_evo_dagster.training.tool_calls.types import ToolCall


@pytest.fixture
def episode():
    environment = ArithmeticEnvironment(HermesFormat())
    return environment.episode(environment.task("plus-27-45"))


def call(name, **arguments):
    return HermesFormat().render(ToolCall(name, arguments))


def test_the_good_way_earns_one(episode):
    assert episode.act(call("calculate", expression="27+45")).results == ("72",)
    assert episode.act(call("finish", response="72")).done
    assert episode.score().reward == pytest.approx(1.0)
    assert episode.score().correct


def test_a_guess_earns_what_it_kept_of_the_protocol(episode):
    assert episode.act(call("finish", response="12")).done
    score = episode.score()
    assert not score.correct
    assert score.reward == pytest.approx(0.12)


def test_an_answer_that_is_no_number_has_not_finished(episode):
    episode.act(call("finish", response="seventy-two"))
    assert episode.score().components["finished"] == 0


def test_an_answer_may_be_a_json_number(episode):
    episode.act(call("finish", response=72))
    assert episode.score().correct


def test_a_turn_without_a_call_ends_the_episode_without_an_answer(episode):
    reply = episode.act("It is 72.")
    assert reply.done
    assert episode.score().reward == 0


def test_a_malformed_call_goes_back_as_the_tools_result_and_costs(episode):
    reply = episode.act('<tool_call>{"name":"calculate","arguments":{"expression":"1</tool_call>')
    assert not reply.done
    assert reply.results == ("Error: the tool call is not valid JSON",)
    assert episode.score().reward == pytest.approx(-0.03)
    episode.act(call("calculate", expression="27+45"))
    episode.act(call("finish", response="72"))
    assert episode.score().reward == pytest.approx(0.8 + 0.1 + 0.08 - 0.03)
    assert episode.tool_use() == ToolUse(2, 1, {"malformed": 1})


@pytest.mark.parametrize("arguments", [{}, {"expression": None}, {"expression": [1]}, {"expression": True}])
def test_missing_or_odd_arguments_are_malformed(episode, arguments):
    assert episode.act(call("calculate", **arguments)).results == ("Error: calculate needs expression",)
    assert episode.score().components["malformed"] == pytest.approx(-0.03)


def test_a_refused_expression_is_an_error_of_the_tool_and_not_of_the_protocol(episode):
    assert episode.act(call("calculate", expression="9**9**9")).results == (
        "Error: the expression is not arithmetic",
    )
    assert episode.score().components["malformed"] == 0
    assert episode.score().components["tool_used"] == 0
    assert episode.tool_use() == ToolUse(1, 1, {"refused": 1})


def test_parallel_calls_are_answered_in_order_and_finish_ends_the_turn(episode):
    two = call("calculate", expression="1+1") + call("calculate", expression="2+2")
    assert episode.act(two).results == ("2", "4")
    reply = episode.act(call("finish", response="72") + call("calculate", expression="3+3"))
    assert reply.done
    assert episode.tool_use().calls == 3


def test_components_are_those_the_environment_names(episode):
    names = ArithmeticEnvironment(HermesFormat()).reward_names
    assert tuple(episode.score().components) == tuple(names)
