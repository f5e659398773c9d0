import pytest

from agent_evo_dagster.training.agents.types import Action
from agent_evo_dagster.training.environments.math_calc import MathCalcEnv
from agent_evo_dagster.training.environments.rewards import BinaryReward, ShapedReward
from agent_evo_dagster.training.environments.tool_env import ToolEnv
from agent_evo_dagster.training.environments.tools import Parameter, Tool
from agent_evo_dagster.training.environments.types import Task, ToolUse
from agent_evo_dagster.training.tool_calls.types import Diagnostic, Fault, ToolCall

TASK = Task("t", "What is 27 plus 45?", "72")


def act(env, *items, recovered=()):
    return env.step(Action("text", items, recovered))


def calculate(expression):
    return ToolCall("calculate", {"expression": expression})


def finish(response):
    return ToolCall("finish", {"response": response})


def test_the_binary_reward_is_the_answer_alone():
    env = MathCalcEnv(TASK, BinaryReward())
    act(env, finish("72.0"))
    assert env.score().components == {"correct": 1.0}
    wrong = MathCalcEnv(TASK, BinaryReward())
    act(wrong, calculate("27+45"), finish("73"))
    assert wrong.score().reward == 0


def test_the_shaped_reward_adds_up_to_one_for_the_good_way():
    env = MathCalcEnv(TASK, ShapedReward())
    assert act(env, calculate("27+45")).results == ("72",)
    assert act(env, finish("72")).done
    assert env.score().reward == pytest.approx(1)


@pytest.mark.parametrize(
    "expression", ["9**9**9", "10**10**8", "factorial(10**6)", "9" * 400, "(" * 60 + "1"]
)
def test_the_calculator_refuses_before_it_computes(expression):
    env = MathCalcEnv(TASK, ShapedReward())
    assert act(env, calculate(expression)).results[0].startswith("Error: ")
    assert env.tool_use().faults == {"refused": 1}


def test_an_answer_that_is_code_is_not_run_and_not_right(tmp_path):
    env = MathCalcEnv(Task("t", "?", "4"), ShapedReward())
    act(env, finish("__import__('os').getpid()"))
    assert not env.score().correct
    assert env.score().components["finished"] == 0


def test_faults_are_counted_by_kind_and_calls_read_in_spite_of_one_apart():
    env = MathCalcEnv(TASK, ShapedReward())
    broken = Diagnostic(Fault.MALFORMED, "Error: the tool call is not valid JSON")
    reply = act(env, broken, calculate("1/0"), ToolCall("calculate", {}), recovered=(Fault.LOOSE,))
    assert reply.results[0] == broken.message
    assert env.tool_use() == ToolUse(1, 3, {"bad_arguments": 1, "malformed": 1, "refused": 1}, 1)
    assert env.score().components["malformed"] == pytest.approx(-0.06)


def test_calls_behind_the_answer_are_not_executed():
    env = MathCalcEnv(TASK, ShapedReward())
    assert act(env, finish("72"), calculate("1+1")).done
    assert env.tool_use().calls == 1


def test_answers_in_words_are_compared_as_text():
    env = ToolEnv(Task("t", "Who?", "Ada  Lovelace"), (), BinaryReward())
    act(env, finish("ada lovelace"))
    assert env.score().correct


def test_an_environment_whose_tools_are_pure_needs_no_thread():
    assert not MathCalcEnv(TASK, BinaryReward()).blocking
    slow = Tool("look", "", {"what": Parameter()}, str)
    assert MathCalcEnv(TASK, BinaryReward(), (slow,)).blocking
