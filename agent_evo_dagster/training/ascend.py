"""Ascend NPUs: the variables that a run needs, and combinations of versions that cannot work.

Nothing here imports torch_npu: where CANN is missing, that alone breaks `import torch`.
"""

import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import yaml

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.ascend_settings import AscendSettings
from agent_evo_dagster.training.backends.verl_settings import VerlSettings

TABLE = Path(__file__).with_name("ascend_versions.yaml")
HOME = "ASCEND_HOME_PATH"
INFO_FILES = ("ascend_toolkit_install.info", "version.cfg", "version.info")
_CANN = re.compile(r"^(?:version|toolkit_installed_version)\s*=\s*\[?([0-9][\w.]*)", re.M | re.I)
_BASE = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True)
class Stack:
    """Versions; empty where something is not installed."""

    python: str = ""
    torch: str = ""
    torch_npu: str = ""
    cann: str = ""
    vllm: str = ""
    vllm_ascend: str = ""


@dataclass(frozen=True)
class Listed:
    """A set of versions that was released together, and where that is said."""

    stack: Stack  # `python` is the first and the last release: "3.10 to 3.11"
    source: str


def ascend_environment(settings: AscendSettings) -> dict[str, str]:
    """Variables of every process of a run on NPUs."""
    found = {
        "RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES": "1",  # Ray must not hide devices from actors
        "HCCL_CONNECT_TIMEOUT": str(settings.connect_timeout),
        "HCCL_EXEC_TIMEOUT": str(settings.exec_timeout),
        "HCCL_BUFFSIZE": str(settings.buffer_mb),
        "HCCL_WHITELIST_DISABLE": "1",
        "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
        "TASK_QUEUE_ENABLE": "1",
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",  # Megatron asks for it on NPUs too
        "VLLM_USE_V1": "1",
    }
    if settings.visible_devices:
        found["ASCEND_RT_VISIBLE_DEVICES"] = ",".join(map(str, settings.visible_devices))
    if settings.base_port is not None:
        found["HCCL_IF_BASE_PORT"] = str(settings.base_port)
    if settings.socket_interface is not None:
        names = ("HCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
        found |= dict.fromkeys(names, settings.socket_interface)
    return found


def require_ascend(settings: AscendSettings, verl: VerlSettings, *, here: bool) -> None:
    """Refuse a run that cannot work on NPUs; `here`: it computes on this machine.

    Raises:
        TrainingError: says what does not go together.
    """
    problems = list(_layout_problems(settings, verl))
    if here:
        problems += stack_problems(installed_stack(settings), settings, needs_vllm=verl.engine == "vllm")
    if problems:
        raise TrainingError("device=npu cannot work so:\n  " + "\n  ".join(problems))


def _layout_problems(settings: AscendSettings, verl: VerlSettings) -> Iterator[str]:
    if verl.engine == "trtllm":
        yield "verl.engine is trtllm, which is for NVIDIA's GPUs. Use vllm, with vllm-ascend, or sglang."
    devices = settings.visible_devices
    if devices and len(devices) != verl.devices_per_node:
        yield (
            f"ascend.visible_devices has {len(devices)} NPUs, verl.devices_per_node is "
            f"{verl.devices_per_node}. Make them equal."
        )
    if verl.nodes > 1 and settings.socket_interface is None:
        yield (
            f"verl.nodes is {verl.nodes} and ascend.socket_interface is not set: HCCL may choose an "
            "interface that does not reach the other nodes."
        )


def installed_stack(settings: AscendSettings, environ: Mapping[str, str] = os.environ) -> Stack:
    """What this Python and machine have."""
    home = settings.home or (Path(environ[HOME]) if environ.get(HOME) else None)
    return Stack(
        python=platform.python_version(),
        torch=_installed("torch"),
        torch_npu=_installed("torch_npu"),
        cann=cann_version(home) if home else "",
        vllm=_installed("vllm"),
        vllm_ascend=_installed("vllm_ascend"),
    )


def _installed(package: str) -> str:
    try:
        return version(package).partition("+")[0]
    except PackageNotFoundError:
        return ""


def cann_version(home: Path) -> str:
    """The version in CANN's folder, or an empty text where it names none."""
    folders = [home, *sorted(home.glob("*-linux"))]
    for path in (folder / name for folder in folders for name in INFO_FILES):
        if path.is_file() and (found := _CANN.search(path.read_text("utf-8", errors="replace"))):
            return found.group(1)
    return ""


def stack_problems(stack: Stack, settings: AscendSettings, *, needs_vllm: bool) -> list[str]:
    """Why these versions cannot work together; an empty list where nothing speaks against them."""
    missing = list(_missing(stack, needs_vllm))
    if missing:
        return missing
    problems = list(_contradictions(stack))
    if problems or settings.allow_unlisted or not needs_vllm:
        return problems
    return _unlisted(stack, list(listed()))


def _missing(stack: Stack, needs_vllm: bool) -> Iterator[str]:
    wanted = {"torch": stack.torch, "torch_npu": stack.torch_npu}
    if needs_vllm:
        wanted |= {"vllm": stack.vllm, "vllm_ascend": stack.vllm_ascend}
    for name, found in wanted.items():
        if not found:
            yield f"{name} is not installed in this Python."
    if not stack.cann:
        yield (
            f"CANN was not found ({HOME} or ascend.home). Run `source .../ascend-toolkit/set_env.sh` in the "
            "shell that starts Dagster."
        )


def _contradictions(stack: Stack) -> Iterator[str]:
    """Pairs that never work, whatever is listed."""
    if _base(stack.torch) != _base(stack.torch_npu):
        yield f"torch_npu {stack.torch_npu} is for torch {_base(stack.torch_npu)}; torch is {stack.torch}."
    if stack.vllm_ascend and _base(stack.vllm) != _base(stack.vllm_ascend):
        yield (
            f"vllm_ascend {stack.vllm_ascend} is for vllm {_base(stack.vllm_ascend)}; vllm is {stack.vllm}."
        )


def _unlisted(stack: Stack, sets: list[Listed]) -> list[str]:
    own = [each for each in sets if each.stack.vllm_ascend == stack.vllm_ascend]
    if not own:
        known = ", ".join(each.stack.vllm_ascend for each in sets)
        return [
            f"vllm_ascend {stack.vllm_ascend} is in no listed set ({known}). Take a listed one, or set "
            "ascend.allow_unlisted."
        ]
    return [problem for each in own for problem in _differences(stack, each)]


def _differences(stack: Stack, wanted: Listed) -> Iterator[str]:
    for name in ("cann", "torch"):
        found, right = getattr(stack, name), getattr(wanted.stack, name)
        if found.lower() != right.lower():
            yield (
                f"vllm_ascend {stack.vllm_ascend} needs {name} {right}, and {found} is installed "
                f"({wanted.source})."
            )
    first, _, last = wanted.stack.python.partition(" to ")
    if not _release(first) <= _release(stack.python) <= _release(last):
        yield f"vllm_ascend {stack.vllm_ascend} needs Python {wanted.stack.python}; this is {stack.python}."


def listed() -> Iterator[Listed]:
    """All sets of the table, in its order."""
    for group in yaml.safe_load(TABLE.read_text("utf-8")).values():
        for each in group["sets"]:
            yield Listed(Stack(**{name: str(value) for name, value in each.items()}), str(group["source"]))


def _base(text: str) -> str:
    found = _BASE.match(text)
    return found.group() if found else text


def _release(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)
