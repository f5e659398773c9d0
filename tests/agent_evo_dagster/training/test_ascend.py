"""What a run on NPUs is told, and which combinations of versions are refused."""

import re
from dataclasses import replace

import pytest
from pydantic import ValidationError

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.ascend import (
    Stack,
    ascend_environment,
    cann_version,
    installed_stack,
    listed,
    require_ascend,
    stack_problems,
)
from agent_evo_dagster.training.ascend_settings import AscendSettings
from agent_evo_dagster.training.backends.verl_settings import VerlSettings

GOOD = Stack("3.11.9", "2.10.0", "2.10.0.post4", "9.1.0", "0.23.0", "0.23.0")


def problems(stack, settings=None, needs_vllm=True):
    return stack_problems(stack, settings or AscendSettings(), needs_vllm=needs_vllm)


def test_a_listed_set_is_taken():
    assert problems(GOOD) == []


def test_every_listed_set_is_taken_as_it_is_listed():
    for each in listed():
        stack = replace(each.stack, python=each.stack.python.partition(" to ")[0] + ".4")
        assert problems(stack) == [], each


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"torch_npu": "2.9.0"}, "torch_npu 2.9.0 is for torch 2.9.0; torch is 2.10.0"),
        ({"vllm": "0.22.1"}, "vllm_ascend 0.23.0 is for vllm 0.23.0; vllm is 0.22.1"),
        ({"cann": "8.5.1"}, "needs cann 9.1.0, and 8.5.1 is installed"),
        ({"python": "3.13.0"}, "needs Python 3.10 to 3.12; this is 3.13.0"),
        ({"torch": "2.9.0", "torch_npu": "2.9.0"}, "needs torch 2.10.0, and 2.9.0 is installed"),
        ({"vllm_ascend": "0.99.0", "vllm": "0.99.0"}, "in no listed set.*allow_unlisted"),
        ({"torch_npu": ""}, "torch_npu is not installed"),
        ({"cann": ""}, r"CANN was not found.*set_env\.sh"),
        ({"vllm_ascend": ""}, "vllm_ascend is not installed"),
    ],
)
def test_versions_that_do_not_go_together_are_told_apart(change, said):
    found = problems(replace(GOOD, **change))
    assert len(found) == 1
    assert re.search(said, found[0])


def test_an_unlisted_set_may_be_allowed_but_never_a_contradiction():
    unlisted = replace(GOOD, vllm="0.99.0", vllm_ascend="0.99.0")
    assert problems(unlisted, AscendSettings(allow_unlisted=True)) == []
    assert problems(replace(unlisted, torch="2.11.0"), AscendSettings(allow_unlisted=True))


def test_without_vllm_only_torch_and_cann_are_asked_for():
    assert problems(replace(GOOD, vllm="", vllm_ascend=""), needs_vllm=False) == []


def test_every_set_names_its_source_and_has_all_versions():
    sets = list(listed())
    assert len(sets) >= 9
    for each in sets:
        assert each.source.startswith("https://")
        assert all(vars(each.stack).values())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ascend_toolkit_install.info", "package_name=Ascend-cann-toolkit\nversion=8.3.RC1\n"),
        ("version.cfg", "# version: 1.0\nruntime_running_version=[8]\ntoolkit_installed_version=[8.3.RC1]\n"),
        ("aarch64-linux/version.info", "Version=8.3.RC1\n"),
    ],
)
def test_the_version_of_cann_is_read_where_it_writes_it(tmp_path, name, text):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert cann_version(tmp_path) == "8.3.RC1"
    stack = installed_stack(AscendSettings(), {"ASCEND_HOME_PATH": str(tmp_path)})
    assert stack.cann == "8.3.RC1"


def test_a_machine_without_any_of_it_says_so_without_importing_torch_npu(tmp_path):
    assert installed_stack(AscendSettings(), {}).cann == ""
    assert cann_version(tmp_path) == ""


def test_the_devices_and_the_network_reach_every_process():
    settings = AscendSettings(visible_devices=(0, 1), socket_interface="eth0", base_port=48000)
    found = ascend_environment(settings)
    wanted = {
        "ASCEND_RT_VISIBLE_DEVICES": "0,1",
        "RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES": "1",
        "HCCL_CONNECT_TIMEOUT": "1800",
        "HCCL_EXEC_TIMEOUT": "3600",
        "HCCL_IF_BASE_PORT": "48000",
        "HCCL_SOCKET_IFNAME": "eth0",
        "GLOO_SOCKET_IFNAME": "eth0",
    }
    assert wanted.items() <= found.items()
    assert "ASCEND_RT_VISIBLE_DEVICES" not in ascend_environment(AscendSettings())


@pytest.mark.parametrize(
    ("settings", "layout", "said"),
    [
        ({"visible_devices": (0, 1)}, {"devices_per_node": 4}, "has 2 NPUs, verl.devices_per_node is 4"),
        ({}, {"engine": "trtllm"}, "NVIDIA's GPUs"),
        ({}, {"nodes": 2}, "socket_interface is not set"),
    ],
)
def test_a_layout_that_npus_cannot_have_is_refused(settings, layout, said):
    with pytest.raises(TrainingError, match=said):
        require_ascend(AscendSettings(**settings), VerlSettings(**layout), here=False)


def test_a_run_on_this_machine_is_refused_where_nothing_of_it_is_installed(monkeypatch):
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    with pytest.raises(TrainingError, match=r"(?s)device=npu cannot work so.*torch_npu is not installed"):
        require_ascend(AscendSettings(), VerlSettings(), here=True)


@pytest.mark.parametrize(
    "settings",
    [{"visible_devices": (0, 0)}, {"visible_devices": (-1,)}, {"socket_interface": "eth0; rm -rf /"}],
)
def test_settings_that_name_no_device_or_interface_are_refused(settings):
    with pytest.raises(ValidationError):
        AscendSettings.model_validate(settings)
