"""What a run says on the terminal: a line per finished step, the worker's progress, and what went wrong."""

import logging
import os
import sys
import time

import dagster as dg

from agent_evo_dagster.training.reporting import STEPS_ARE_SHOWN, tells_step

_SHOWN = logging.INFO
STEP_SECONDS = 5.0  # between two lines that tell a step


class RoundFormatter(logging.Formatter):
    """One line per record: the step, and what it says."""

    def format(self, record: logging.LogRecord) -> str:
        """The line for `record`; a failure keeps its whole text."""
        meta = getattr(record, "dagster_meta", {})
        step = meta.get("step_key") or meta.get("job_name") or "dagster"
        said = meta.get("orig_message") or record.getMessage()
        return f"{self.formatTime(record, '%H:%M:%S')}  {step:<20} {said}"


class RoundFilter(logging.Filter):
    """Lets pass what a person waits for: finished steps, progress, warnings and errors.

    Of the worker's steps, a line every few seconds; none where the terminal has a bar. Dagster's log has all.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told_step: float | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is shown."""
        meta = getattr(record, "dagster_meta", {})
        event = meta.get("dagster_event")
        if event is not None:
            return event.event_type_value == "STEP_SUCCESS" or record.levelno >= logging.ERROR
        if tells_step(meta.get("orig_message") or record.getMessage()):
            return self._is_time_for_a_step()
        return record.levelno >= _SHOWN

    def _is_time_for_a_step(self) -> bool:
        now = time.monotonic()
        if STEPS_ARE_SHOWN in os.environ or (
            self._told_step is not None and now - self._told_step < STEP_SECONDS
        ):
            return False
        self._told_step = now
        return True


def _round_logger(init_context: dg.InitLoggerContext) -> logging.Logger:
    """The logger of one run."""
    del init_context
    logger = logging.Logger("agent_evo", level=logging.DEBUG)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RoundFormatter())
    handler.addFilter(RoundFilter())
    logger.addHandler(handler)
    return logger


def round_console() -> dg.LoggerDefinition:
    """The logger that every job of this location has."""
    return dg.LoggerDefinition(
        _round_logger, description="A line per finished step, the worker's progress, and what went wrong."
    )
