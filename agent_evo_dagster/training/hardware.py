"""What a machine is, as far as it decides how floating-point numbers are rounded. No name of any machine."""

import platform
import sys
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


def hardware() -> dict[str, str]:
    """System, architecture, processor and the vector instructions that torch uses, where they are known."""
    found = {"system": platform.system(), "machine": platform.machine(), "cpu": _cpu()}
    torch = sys.modules.get("torch")  # asked where it is loaded: a look at the machine loads nothing
    if torch is not None:
        found["cpu_capability"] = str(torch.backends.cpu.get_cpu_capability())
        found["accelerator"] = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"
    return found


def _cpu() -> str:
    """The processor's model, as the system tells it."""
    lines = CPU_INFO.read_text(errors="replace").splitlines() if CPU_INFO.is_file() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown")
