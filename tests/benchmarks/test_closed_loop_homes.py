"""Homes are filled once, by the code that is measured, and never mixed."""

import os
from pathlib import Path

import pytest

from agent_evo_dagster.errors import RoundError
from benchmarks import closed_loop_homes
from benchmarks.closed_loop import arm_list, seed_list
from benchmarks.closed_loop_homes import PROJECT, Home, code_hash, fill


class Commands:
    """Stands for `subprocess.run`: keeps what would have been run."""

    def __init__(self, code=0):
        self.code, self.returncode = code, code
        self.words, self.environments = [], []

    def run(self, command, *, env, **options):
        self.words.append(command[3:])
        self.environments.append(env)
        Path(env["AGENT_EVO_HOME"]).mkdir(exist_ok=True)
        return self


@pytest.fixture
def commands(monkeypatch):
    made = Commands()
    monkeypatch.setattr(closed_loop_homes.subprocess, "run", made.run)
    return made


def test_an_arm_runs_the_commands_that_a_person_types(tmp_path, commands):
    fill(Home(tmp_path, "zero", 3), 2, "c0de")
    samples, run = commands.words
    assert samples == ["import", str(PROJECT / "samples")]
    assert run == ["rounds", "run", "--count", "2", "--seed", "3", "--set", "learning_rate=0"]


def test_commands_see_this_checkout_and_their_own_home_alone(tmp_path, commands, monkeypatch):
    monkeypatch.setenv("AGENT_EVO_BANK", "/elsewhere")
    monkeypatch.setenv("DAGSTER_HOME", "/elsewhere")
    monkeypatch.setenv("PYTHONPATH", "/more")
    fill(Home(tmp_path, "frozen", 0), 1, "c0de")
    seen = commands.environments[1]
    assert seen["AGENT_EVO_HOME"] == str(tmp_path / "frozen-0")
    assert seen["AGENT_EVO_PROJECT"] == str(PROJECT)
    assert seen["PYTHONPATH"] == f"{PROJECT}{os.pathsep}/more"
    assert seen["AGENT_EVO_POLICY"] == "manual"
    assert not {"AGENT_EVO_BANK", "DAGSTER_HOME"} & seen.keys()


def test_a_finished_home_is_not_run_again(tmp_path, commands):
    home = Home(tmp_path, "gated", 0)
    seconds = fill(home, 1, "c0de")
    assert fill(home, 1, "c0de") == seconds
    assert len(commands.words) == 2


def test_a_home_that_was_cut_off_starts_again(tmp_path, commands):
    home, commands.returncode = Home(tmp_path, "gated", 0), 1
    with pytest.raises(RoundError, match="ended with 1"):
        fill(home, 1, "c0de")
    (home.path / "half").touch()
    commands.returncode = 0
    fill(home, 1, "c0de")
    assert not (home.path / "half").exists()


@pytest.mark.parametrize(("rounds", "code"), [(2, "c0de"), (1, "other")])
def test_figures_of_other_code_or_other_rounds_are_not_mixed(tmp_path, commands, rounds, code):
    fill(Home(tmp_path, "gated", 0), 1, "c0de")
    with pytest.raises(RoundError, match="not mixed"):
        fill(Home(tmp_path, "gated", 0), rounds, code)


def test_a_folder_of_someone_else_is_left_alone(tmp_path, commands):
    (tmp_path / "gated-0").mkdir()
    (tmp_path / "gated-0" / "precious").touch()
    with pytest.raises(RoundError, match="not of this benchmark"):
        fill(Home(tmp_path, "gated", 0), 1, "c0de")
    assert (tmp_path / "gated-0" / "precious").exists()


def test_the_hash_of_the_code_follows_its_bytes_and_not_its_caches(tmp_path):
    (tmp_path / "assets" / "__pycache__").mkdir(parents=True)
    (tmp_path / "assets" / "a.py").write_text("1")
    before = code_hash(tmp_path)
    (tmp_path / "assets" / "__pycache__" / "a.pyc").write_text("cache")
    assert code_hash(tmp_path) == before
    (tmp_path / "assets" / "a.py").write_text("2")
    assert code_hash(tmp_path) != before


def test_seeds_and_arms_are_given_by_range_and_name():
    assert seed_list("0-2,7") == [0, 1, 2, 7]
    assert arm_list("gated,zero") == ["gated", "zero"]
    with pytest.raises(ValueError, match="there is no arm wild"):
        arm_list("wild")
