"""verl's metrics under the names that all backends share. verl's own names are kept where TRL has none."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.breaker import RATE

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "critic/score/mean": "reward",
        "actor/pg_loss": "loss",
        "actor/entropy": "entropy",
        "actor/grad_norm": "grad_norm",
        "actor/lr": "learning_rate",
        "actor/kl_loss": "kl",
        "actor/pg_clipfrac": "clip_ratio/region_mean",
        "response_length/mean": "completions/mean_length",
        "response_length/min": "completions/min_length",
        "response_length/max": "completions/max_length",
        "response_length/clip_ratio": "completions/clipped_ratio",
    }
)
CLOCKED_NAMES: Mapping[str, str] = MappingProxyType(
    {"timing_s/step": "step_time", "timing_s/gen": "rollout_seconds", "perf/throughput": RATE}
)
CLOCKED_PREFIXES = ("timing_s/", "timing_per_token_ms/", "perf/")


@dataclass(frozen=True)
class VerlStep:
    """One line of verl's metrics, a clock's values apart from the others."""

    step: int  # as verl counts
    metrics: Mapping[str, float | None]
    timings: Mapping[str, float | None]


class MetricsReader:
    """Reads the file while verl writes it: each call gives what is new and whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def new(self) -> Iterator[VerlStep]:
        """Steps since the last call, in verl's order; none before the file is there.

        Raises:
            TrainingError: a line is no step of verl's.
        """
        if not self._path.is_file():
            return
        with self._path.open("rb") as stream:
            stream.seek(self._at)
            data = stream.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        for line in whole.splitlines():
            yield read_step(line, self._path)


def read_step(line: bytes, path: Path) -> VerlStep:
    """A line of the file logger.

    Raises:
        TrainingError: it is none.
    """
    try:
        document = json.loads(line)
        step, data = int(document["step"]), dict(document["data"])
    except (ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{path} has a line that is no step of verl's metrics ({error!r}).") from error
    values = {name: _number(value) for name, value in sorted(data.items()) if _numeric(value)}
    clocked = {name for name in values if name.startswith(CLOCKED_PREFIXES)}
    return VerlStep(
        step,
        {NAMES.get(name, name): value for name, value in values.items() if name not in clocked},
        {CLOCKED_NAMES.get(name, name): values[name] for name in sorted(clocked)},
    )


def _numeric(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _number(value: float | None) -> float | None:
    """Null where verl's own logger wrote null: that is how it writes NaN and infinity."""
    return float(value) if value is not None and math.isfinite(value) else None
