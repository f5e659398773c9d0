"""The `trainer_state.json` of a checkpoint that transformers or TRL wrote: its log history."""

import json
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.analysis.run_logs.types import LogBook, MetricLog
from agent_evo_dagster.errors import AnalysisError

_PLACES = frozenset({"step", "epoch"})


@dataclass(frozen=True, slots=True)
class TrainerState:
    """One JSON document with `log_history`, a list of what was logged at a step."""

    name: str = "trl"

    def recognises(self, path: Path) -> bool:
        """By its name, which the library fixes."""
        return path.name == "trainer_state.json"

    def read(self, path: Path) -> MetricLog:
        """The whole history.

        Raises:
            AnalysisError: it is no such document.
        """
        try:
            state = json.loads(path.read_bytes())
            history = state["log_history"]
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise AnalysisError(
                f"{path} should be a trainer's state with a log_history, and cannot be read: {error!r}. "
                "It may have been cut off while it was written: name the one of an earlier checkpoint."
            ) from error
        book = LogBook()
        for entry in history if isinstance(history, list) else ():
            if not isinstance(entry, dict):
                book.broken["no entry"] += 1
            elif (step := book.step(entry.get("step"))) is not None:
                for name, value in entry.items():
                    if name not in _PLACES:
                        book.value(step, name, value)
        return book.log(self.name)
