"""The session detectors that run by default. No rule of any one."""

from agent_evo_dagster.analysis.detectors.missing_file import MissingFile
from agent_evo_dagster.analysis.detectors.protocol import SessionDetector
from agent_evo_dagster.analysis.detectors.recovery import FailureRecovery
from agent_evo_dagster.analysis.detectors.repeated_call import RepeatedCall
from agent_evo_dagster.analysis.detectors.repeated_failure import RepeatedFailure


def default_detectors() -> tuple[SessionDetector, ...]:
    """One of each, with its own defaults."""
    return (RepeatedFailure(), FailureRecovery(), MissingFile(), RepeatedCall())
