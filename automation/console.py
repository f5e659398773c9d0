"""What a run says on the terminal: a line per finished step, the worker's progress, and what went wrong."""

import logging
import sys

import dagster as dg

_SHOWN = logging.INFO


class RoundFormatter(logging.Formatter):
    """One line per record: the step, and what it says."""

    def format(self, record: logging.LogRecord) -> str:
        """The line for `record`; a failure keeps its whole text."""
        meta = getattr(record, "dagster_meta", {})
        step = meta.get("step_key") or meta.get("job_name") or "dagster"
        said = meta.get("orig_message") or record.getMessage()
        return f"{self.formatTime(record, '%H:%M:%S')}  {step:<20} {said}"


class RoundFilter(logging.Filter):
    """Lets pass what a person waits for: finished steps, progress, warnings and errors."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is shown."""
        event = getattr(record, "dagster_meta", {}).get("dagster_event")
        if event is not None:
            return event.event_type_value == "STEP_SUCCESS" or record.levelno >= logging.ERROR
        return record.levelno >= _SHOWN


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
