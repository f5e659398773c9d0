"""Which kinds of log are known, and how a run's folder is read. No format of its own."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import polars as pl

from agent_evo_dagster.analysis.run_logs.json_lines import JsonLines
from agent_evo_dagster.analysis.run_logs.tensorboard import TensorBoard
from agent_evo_dagster.analysis.run_logs.trainer_state import TrainerState
from agent_evo_dagster.analysis.run_logs.types import LogReader, MetricLog
from agent_evo_dagster.analysis.run_logs.verl_console import VerlConsole
from agent_evo_dagster.errors import AnalysisError

_ENDINGS = frozenset({".json", ".jsonl", ".log", ".txt", ".out"})
_MAX_FILES = 2000
_TAIL = 65_536  # bytes of a text log


@dataclass(frozen=True, slots=True)
class RunLog:
    """The metrics of a run, the files that they come from, and the end of its text log."""

    log: MetricLog
    files: tuple[Path, ...]
    tail: str


def readers() -> tuple[LogReader, ...]:
    """Every kind, the one that is told most exactly first."""
    return (
        JsonLines("agent-evo", "metrics"),
        TrainerState(),
        JsonLines("verl file logger", "data"),
        TensorBoard(),
        VerlConsole(),
    )


def read_run_log(path: Path) -> RunLog:
    """The log at `path`: a file, or a folder of a run. Of several kinds in a folder the first known is read.

    Several event files of TensorBoard are the starts of one run, in the order of their names; of several
    files of another kind, the one in the shallowest folder is read, the last by name of those.

    Raises:
        AnalysisError: there is no log of a known kind, or it holds no step.
        MissingExtraError: a package that the kind needs is not installed.
    """
    found = list(_candidates(path))
    for reader in readers():
        of_kind = [file for file in found if reader.recognises(file)]
        if not of_kind:
            continue
        depth = min(len(file.parts) for file in of_kind)
        shallowest = [file for file in of_kind if len(file.parts) == depth]
        chosen = of_kind if reader.name == "tensorboard" else shallowest[-1:]
        log = _joined([reader.read(file) for file in chosen])
        if log.metrics.is_empty():
            raise AnalysisError(
                f"{', '.join(map(str, chosen))} is a log ({reader.name}) without a single step "
                f"(broken: {log.broken or 'nothing'}). The run may have died before its first one."
            )
        return RunLog(log, tuple(chosen), _tail(found))
    raise AnalysisError(
        f"{path} holds no log of a training run that is known ({len(found)} files were looked at). Known: "
        "metrics.jsonl of this project, trainer_state.json of TRL, verl's file logger and console output, "
        "and TensorBoard event files."
    )


def _candidates(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise AnalysisError(f"There is nothing at {path}. Name a log of a training run, or its folder.")
    if path.is_file():
        yield path
        return
    files = (file for file in sorted(path.rglob("*")) if file.suffix in _ENDINGS or "tfevents" in file.name)
    kept = [file for file in files if file.is_file() and not file.is_symlink()]
    if len(kept) > _MAX_FILES:
        raise AnalysisError(f"{path} holds {len(kept)} files that may be logs. Name the folder of one run.")
    yield from kept


def _joined(logs: Sequence[MetricLog]) -> MetricLog:
    broken: Counter[str] = Counter()
    for log in logs:
        broken.update(log.broken)
    ends = [log.metrics["step"] for log in logs if log.metrics.height]
    back = sum(after[0] <= before[-1] for before, after in pairwise(ends))
    restarts = sum(log.restarts for log in logs) + back
    metrics = pl.concat([log.metrics for log in logs])
    return replace(logs[0], metrics=metrics, broken=dict(sorted(broken.items())), restarts=restarts)


def _tail(files: Sequence[Path]) -> str:
    """The ends of the text logs, one after the other."""
    tails = []
    for file in files:
        if file.suffix in (".log", ".txt", ".out"):
            with file.open("rb") as stream:
                stream.seek(max(0, file.stat().st_size - _TAIL))
                tails.append(stream.read().decode(errors="replace"))
    return "\n".join(tails)
