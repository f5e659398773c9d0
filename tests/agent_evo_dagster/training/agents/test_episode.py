import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.agents.base import AgentSetup
from agent_evo_dagster.training.agents.episode import AgentEpisode
from agent_evo_dagster.training.agents.tool_agent import ToolAgent
from agent_evo_dagster.training.environments.base import BaseEnv
from agent_evo_dagster.training.environments.types import Reply, Score, Task, ToolUse, components
from agent_evo_dagster.training.tool_calls.hermes import HermesFormat


class Env(BaseEnv):
    def __init__(self, score):
        super().__init__(Task("t", "q", "a"))
        self.given, self.closed = score, False

    def step(self, action):
        return Reply((action.text.upper(),), done=False)

    def score(self):
        return Score(components(**self.given), correct=True)

    def close(self):
        self.closed = True


def episode(**score):
    return AgentEpisode(Env(score), ToolAgent(AgentSetup(HermesFormat(), ())), ("correct",))


def test_an_episode_lets_the_agent_speak_and_the_environment_answer():
    attempt = episode(correct=1.0)
    assert attempt.opening() == [{"role": "user", "content": "q"}]
    assert attempt.act("hello").results == ("HELLO",)
    assert [message["content"] for message in attempt.so_far.messages] == ["q", "hello", "HELLO"]
    assert attempt.score().reward == 1
    assert attempt.tool_use() == ToolUse(0, 0)
    attempt.close()
    assert attempt._env.closed


def test_an_environment_of_ones_own_may_take_long_unless_it_says_otherwise():
    assert episode(correct=1.0).blocking


@pytest.mark.parametrize("score", [{}, {"correct": 1.0, "style": 1.0}, {"right": 1.0}])
def test_a_reward_with_other_components_than_announced_is_refused(score):
    with pytest.raises(TrainingError, match="announced were \\['correct'\\]"):
        episode(**score).score()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_reward_that_is_no_finite_number_is_refused(value):
    with pytest.raises(TrainingError, match="not finite"):
        episode(correct=value).score()
