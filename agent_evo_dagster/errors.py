"""The errors of the library: one base, one class per boundary. No logic, no messages of one caller's own.

Each message says what was asked, what was found, and what to do.
"""


class AgentEvoError(Exception):
    """Anything that this library refuses; the message is written for the person who must act on it."""


class SettingsError(AgentEvoError, ValueError):
    """A setting or environment variable that cannot be used as given."""


class CaptureError(AgentEvoError):
    """The spool, a hook installation or an imported folder cannot be read or written."""


class EmptySpoolError(CaptureError):
    """There is no captured session to learn from."""


class TrajectoryError(AgentEvoError):
    """Events that cannot be ordered into trajectories."""


class SegmentError(AgentEvoError):
    """Segments that break the conservation law, or a segmenter that cannot be loaded."""


class AnalysisError(AgentEvoError):
    """Findings or a report that cannot be made from the input given."""


class AnalystError(AgentEvoError):
    """An analyst that cannot be asked, or that answers what cannot be used."""


class AnalystBudgetError(AnalystError):
    """An analysis that would take, or took, more than its budget."""


class ClientError(AgentEvoError):
    """The Claude Code client is not there, cannot be run, or has no result."""


class PatchError(AgentEvoError, ValueError):
    """A patch document that is not well formed or may not do what it asks."""


class MergeConflictError(PatchError):
    """Two edits of the same lines; the message shows both sides."""


class GateError(AgentEvoError):
    """Evidence that cannot support a verdict."""


class TaskError(AgentEvoError, ValueError):
    """A task of a bank that cannot be used as it is written."""


class DecisionError(AgentEvoError):
    """A decision that is missing, contradicts the record, or is not the caller's to make."""


class SkillBankError(AgentEvoError, ValueError):
    """A bank, skill or section that cannot be read or compiled."""


class UnknownSkillError(SkillBankError, KeyError):
    """A skill that the bank does not hold."""

    __str__ = Exception.__str__


class ChangedSectionError(SkillBankError):
    """A patch made against a section that has changed since."""


class TrainingError(AgentEvoError):
    """A training configuration or run that cannot go on."""


class WorkerError(TrainingError, RuntimeError):
    """A worker process that failed: carries its exit code and the tail of what it wrote."""


class InferenceError(TrainingError, RuntimeError):
    """An inference server that cannot be reached or started, or that answers what cannot be used."""


class EvaluationError(AgentEvoError, ValueError):
    """Scores that cannot be compared."""


class RoundError(AgentEvoError, ValueError):
    """A round key, manifest or status that cannot be used."""


class MissingExtraError(AgentEvoError, ImportError):
    """A feature whose optional packages are not installed; the message has the line that installs them."""
