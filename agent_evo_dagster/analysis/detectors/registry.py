"""The session detectors: the shipped ones by name, a user's own by import path `package.module:Class`."""

from collections.abc import Sequence
from typing import Final, cast

from agent_evo_dagster.analysis.detectors.denied import Denied
from agent_evo_dagster.analysis.detectors.effort import Effort
from agent_evo_dagster.analysis.detectors.failure_signature import FailureSignature
from agent_evo_dagster.analysis.detectors.missing_file import MissingFile
from agent_evo_dagster.analysis.detectors.polling import Polling
from agent_evo_dagster.analysis.detectors.protocol import SessionDetector
from agent_evo_dagster.analysis.detectors.recovery import FailureRecovery
from agent_evo_dagster.analysis.detectors.repeated_call import RepeatedCall
from agent_evo_dagster.analysis.detectors.repeated_failure import RepeatedFailure
from agent_evo_dagster.analysis.detectors.skill_followed import SkillCommandFails, SkillStepSkipped
from agent_evo_dagster.analysis.detectors.unknown_name import UnknownName
from agent_evo_dagster.analysis.detectors.wrong_folder import WrongFolder
from agent_evo_dagster.errors import AnalysisError
from agent_evo_dagster.imports import made_from

_SHIPPED: Final = (
    FailureSignature, RepeatedFailure, FailureRecovery, MissingFile, WrongFolder, UnknownName, Denied,
    RepeatedCall, Polling, SkillCommandFails, SkillStepSkipped, Effort,
)  # fmt: skip


def default_detectors() -> tuple[SessionDetector, ...]:
    """One of each, with its own defaults."""
    return tuple(detector() for detector in _SHIPPED)


def detectors(own: Sequence[str]) -> tuple[SessionDetector, ...]:
    """The shipped detectors, and after them a user's own, each an import path `package.module:Class`.

    Raises:
        AnalysisError: one cannot be loaded, is no detector, or has a name that is taken.
    """
    chosen = list(default_detectors())
    for path in own:
        made = _load(path)
        if any(made.name == other.name for other in chosen):
            raise AnalysisError(
                f"The detector {path!r} is called {made.name!r}, as another is. Give it a name of its own."
            )
        chosen.append(made)
    return tuple(chosen)


def _load(path: str) -> SessionDetector:
    if ":" not in path:
        raise AnalysisError(
            f"A detector of one's own is named by import path, as 'package.module:Class'; found {path!r}."
        )
    made = made_from(path, kind="detector", error=AnalysisError)
    if not isinstance(getattr(made, "name", None), str) or not callable(getattr(made, "find", None)):
        raise AnalysisError(
            f"{path!r} is no detector: it needs a `name` and a method `find(sessions)`; "
            "see agent_evo_dagster.analysis.detectors.protocol."
        )
    return cast(SessionDetector, made)
