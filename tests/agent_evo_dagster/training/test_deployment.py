from pathlib import Path

import pytest

from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.training.deployment import Deployment, read_deployment


def written(tmp_path, text):
    path = tmp_path / "deployment.yaml"
    path.write_text(text)
    return path


def test_a_laptop_needs_no_file():
    assert Deployment().inference == "local"
    assert Deployment().python == {}


def test_an_empty_file_changes_nothing(tmp_path):
    assert read_deployment(written(tmp_path, "# nothing yet\n")) == Deployment()


def test_a_cluster_is_described_in_one_file(tmp_path):
    found = read_deployment(
        written(
            tmp_path,
            """
            python: {verl: /opt/verl/bin/python}
            verl: {nodes: 2, devices_per_node: 8, rollout_tensor_parallel: 2}
            ray: {submit: job, dashboard: "http://head:8265", env: {NCCL_DEBUG: WARN}}
            ascend: {visible_devices: [0, 1], socket_interface: eth0}
            """,
        )
    )
    assert found.python == {"verl": Path("/opt/verl/bin/python")}
    assert found.verl.devices == 16
    assert found.ray.dashboard == "http://head:8265"
    assert Deployment.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("inference: magic", "inference: Input should be"),
        ("python: {llama: /x}", "python.llama"),
        ("vllm: {url: gpu:8000}", "begins with http"),
        ("vllm: [1]", "vllm: Input should be a valid dictionary"),
        ("- 1", "expected a mapping of names to values"),
        ("a: [", "not valid YAML"),
        ("!!python/object/apply:os.system [echo]", "not valid YAML"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_by_field(tmp_path, text, said):
    with pytest.raises(SettingsError, match=said):
        read_deployment(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"nowhere\.yaml, which cannot be read"):
        read_deployment(tmp_path / "nowhere.yaml")
