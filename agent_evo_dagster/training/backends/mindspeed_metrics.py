"""The log of MindSpeed-RL's trainer as steps. It tells four decimals, and no rollouts."""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from agent_evo_dagster.training.backends.verl_metrics import VerlStep

LINE = re.compile(r"iteration: (\d+) / (\d+) \| (.*)")
PAIR = re.compile(r"([\w/.-]+) : (\S+)")

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "grpo/rewards/mean": "reward",
        "actor/pg_loss": "loss",
        "actor/entropy": "entropy",
        "actor/kl_loss": "kl",
        "actor/pg_clipfrac": "clip_ratio/region_mean",
        "actor/lr": "learning_rate",
        "grpo/lr": "learning_rate",
        "response_length/mean": "completions/mean_length",
        "response_length/min": "completions/min_length",
        "response_length/max": "completions/max_length",
        "timing/all": "step_time",
    }
)
CLOCKED = ("timing/", "end_time/", "tokens/p/s", "vllm_throughput", "e2e_tps", "update_tps", "vllm_tps")


class LogReader:
    """Reads the log while it grows: each call gives what is new and whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def new(self) -> Iterator[VerlStep]:
        """Steps since the last call; lines that are none are other messages."""
        if not self._path.is_file():
            return
        with self._path.open("rb") as stream:
            stream.seek(self._at)
            data = stream.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            if (found := LINE.search(line)) is not None:
                yield _step(int(found.group(1)), found.group(3))


def _step(step: int, text: str) -> VerlStep:
    values: dict[str, float | None] = {}
    clocked: dict[str, float | None] = {}
    for name, number in PAIR.findall(text):
        try:
            value = float(number)
        except ValueError:
            continue  # a text among the numbers, such as a device's name
        side = clocked if name.startswith(CLOCKED) else values
        side[NAMES.get(name, name)] = value if math.isfinite(value) else None
    return VerlStep(step, values, clocked)
