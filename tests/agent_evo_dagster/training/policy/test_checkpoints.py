import shutil

import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.training.policy import checkpoints
from agent_evo_dagster.training.policy.checkpoints import (
    EMBEDDED,
    EMBEDDED_SHA256,
    load_policy,
    require_checkpoint,
    save_checkpoint,
)


def test_the_shipped_policy_is_the_recorded_one_and_small():
    assert sha256_tree(EMBEDDED) == EMBEDDED_SHA256
    assert (EMBEDDED / "model.safetensors").stat().st_size < 1_500_000
    assert not [path for path in EMBEDDED.iterdir() if path.suffix in (".bin", ".pt", ".pkl", ".py")]


def test_the_embedded_policy_loads_with_the_plain_classes(policy):
    assert type(policy.model).__name__ == "Qwen2ForCausalLM"
    assert str(policy.model.dtype) == "torch.float32"
    assert policy.sha256 == EMBEDDED_SHA256


def test_a_damaged_installation_is_named(monkeypatch):
    monkeypatch.setattr(checkpoints, "EMBEDDED_SHA256", "0" * 64)
    with pytest.raises(TrainingError, match="installation is damaged"):
        load_policy(None)


def test_a_folder_that_lacks_files_is_refused(tmp_path):
    with pytest.raises(TrainingError, match=r"lacks config\.json, model\.safetensors"):
        require_checkpoint(tmp_path)


def test_pickled_weights_are_refused(tmp_path):
    shutil.copytree(EMBEDDED, tmp_path / "c")
    (tmp_path / "c" / "model.safetensors").rename(tmp_path / "c" / "pytorch_model.bin")
    with pytest.raises(TrainingError, match=r"lacks model\.safetensors"):
        load_policy(tmp_path / "c")


def test_saved_and_loaded_again_it_is_the_same(tmp_path, torch, policy):
    saved = save_checkpoint(policy.model, policy.tokenizer, tmp_path / "one")
    again = load_policy(tmp_path / "one")
    assert again.sha256 == saved
    for ours, theirs in zip(policy.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert save_checkpoint(again.model, again.tokenizer, tmp_path / "two") == saved


def test_a_checkpoint_knows_no_path(tmp_path, policy):
    save_checkpoint(policy.model, policy.tokenizer, tmp_path / "one")
    for path in (tmp_path / "one").glob("*.json"):
        assert str(EMBEDDED.parent) not in path.read_text()
        assert str(tmp_path) not in path.read_text()


def test_a_save_that_fails_leaves_the_old_checkpoint_and_no_rubbish(tmp_path, policy):
    class Broken:
        def save_pretrained(self, folder):
            raise OSError("disk full")

    saved = save_checkpoint(policy.model, policy.tokenizer, tmp_path / "one")
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(policy.model, Broken(), tmp_path / "one")
    assert sha256_tree(tmp_path / "one") == saved
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
