from pathlib import Path

import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.agents.wrapper import EngineWrapper
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.environments.base import BaseEnv
from agent_evo_dagster.training.environments.rewards import Outcome
from agent_evo_dagster.training.environments.types import Task
from agent_evo_dagster.training.own_files import located_config, names_own_file, own_hashes
from agent_evo_dagster.training.own_parts import own_reward, own_tools
from agent_evo_dagster.training.plugins import is_reference, load_class, load_object, located

ENV = """
from agent_evo_dagster.training.environments.base import BaseEnv
class {name}(BaseEnv):
    def step(self, action): ...
    def score(self): ...
"""


@pytest.fixture
def write(tmp_path):
    def written(name, text):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return written


def test_a_class_is_found_by_file_and_name_and_by_import_path(write):
    path = write("envs.py", ENV.format(name="One") + ENV.format(name="Two"))
    assert load_class(f"{path}:Two", BaseEnv, "environment").__name__ == "Two"
    shipped = "agent_evo_dagster.training.environments.math_calc:MathCalcEnv"
    assert load_class(shipped, BaseEnv, "environment").__name__ == "MathCalcEnv"


def test_a_file_with_one_class_needs_no_name_and_is_imported_once(write):
    path = write("env.py", ENV.format(name="One"))
    assert load_class(path, BaseEnv, "environment") is load_class(f"{path}:One", BaseEnv, "environment")


def test_a_file_that_changed_is_imported_anew(write):
    path = write("env.py", ENV.format(name="One"))
    assert load_class(path, BaseEnv, "environment").__name__ == "One"
    write("env.py", ENV.format(name="Other"))
    assert load_class(path, BaseEnv, "environment").__name__ == "Other"


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        (ENV.format(name="One") + ENV.format(name="Two"), "", "defines One, Two. Name the one"),
        ("x = 1", "", "defines none"),
        ("x = 1", ":x", "no class that derives from BaseEnv"),
        ("x = 1", ":y", "defines no y"),
        (
            "from agent_evo_dagster.training.environments.base import BaseEnv\nclass E(BaseEnv): ...",
            ":E",
            "whole",
        ),
        ("1/0", ":x", r"cannot be imported \(ZeroDivisionError"),
        ("def broken(:", ":x", r"cannot be imported \(SyntaxError"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(write, text, name, said):
    path = write("env.py", text)
    with pytest.raises(TrainingError, match=said):
        load_class(f"{path}{name}", BaseEnv, "environment")


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("nowhere.py:X", "there is no file nowhere.py"),
        ("nowhere_at_all:X", r"cannot be imported \(ModuleNotFoundError"),
        ("x.py:not a name", "names no part of yours"),
        ("words", "names no part of yours"),
    ],
)
def test_a_reference_to_nothing_says_so(reference, said):
    with pytest.raises(TrainingError, match=said):
        load_object(reference, "tools")


def test_only_what_names_code_is_a_reference():
    assert [is_reference(each) for each in ("arithmetic", "tool", "", "a.py", "a.b:C", "a.b")] == [
        False, False, False, True, True, True,
    ]  # fmt: skip


def test_files_are_taken_from_the_folder_of_the_person_and_not_of_the_worker():
    config = TrainingConfig(
        environment="envs/one.py:One", agent="pkg.mod:Agent", dataset="file", dataset_path="tasks.jsonl",
        engine_wrapper="wrapper.py",
    )  # fmt: skip
    found = located_config(config, Path("/home/ada"))
    assert found.environment == "/home/ada/envs/one.py:One"
    assert found.agent == "pkg.mod:Agent"
    assert found.dataset_path == "/home/ada/tasks.jsonl"
    assert found.engine_wrapper == "/home/ada/wrapper.py"
    assert located("/abs/one.py:One", Path("/home/ada")) == "/abs/one.py:One"
    assert located_config(TrainingConfig(), Path("/home/ada")) == TrainingConfig()


def test_files_of_a_person_are_known_by_their_hash(write):
    path = write("env.py", ENV.format(name="One"))
    config = TrainingConfig(environment=f"{path}:One", tools="gone.py:T")
    assert list(own_hashes(config)) == ["environment"]
    assert own_hashes(TrainingConfig()) == {}


def test_a_setting_names_a_file_or_it_does_not():
    assert names_own_file("environment", "a.py:E")
    assert names_own_file("dataset_path", "tasks.jsonl")
    assert not names_own_file("environment", "math_calc")
    assert not names_own_file("dataset_path", "")
    assert not names_own_file("max_steps", 3)


OUTCOME = Outcome(Task("t", "q", "3"), "3", 1, 1, 0)


def test_a_reward_may_be_a_function_or_a_class(write):
    path = write(
        "rewards.py",
        "from agent_evo_dagster.training.environments.types import Score, components\n"
        "def brevity(outcome): return 1 / outcome.calls\n"
        "class Two:\n"
        "    names = ('a', 'b')\n"
        "    def __call__(self, outcome): return Score(components(a=1.0, b=2.0), outcome.correct)\n"
        "number = 3\n",
    )
    brevity = own_reward(f"{path}:brevity")
    assert brevity.names == ("brevity",)
    assert brevity(OUTCOME).components == {"brevity": 1.0}
    assert brevity(OUTCOME).correct
    assert own_reward(f"{path}:Two")(OUTCOME).reward == 3
    with pytest.raises(TrainingError, match="cannot be called"):
        own_reward(f"{path}:number")


def test_tools_are_tool_objects_of_different_names(write):
    path = write(
        "tools.py",
        "from agent_evo_dagster.training.environments.tools import Tool\n"
        "look = Tool('look', 'Look.', {}, lambda: 'seen')\n"
        "TOOLS = [look]\nTWICE = [look, look]\nODD = [look, 3]\nFINISH = [Tool('finish', '', {}, str)]\n",
    )
    assert [tool.name for tool in own_tools(f"{path}:TOOLS")] == ["look"]
    assert own_tools(f"{path}:look") == own_tools(f"{path}:TOOLS")
    for name in ("TWICE", "ODD", "FINISH"):
        with pytest.raises(TrainingError, match="Tool objects of different names"):
            own_tools(f"{path}:{name}")


def test_a_wrapper_is_given_the_agents_name(write):
    path = write(
        "wrapper.py",
        "from agent_evo_dagster.training.agents.wrapper import EngineWrapper\n"
        "class Mine(EngineWrapper):\n"
        "    def environment(self, task): ...\n",
    )
    assert load_class(path, EngineWrapper, "engine_wrapper")("math").agent_name == "math"
