"""The training diagnoses that run by default. No rule of any one."""

from agent_evo_dagster.analysis.diagnoses.collapse import Collapse
from agent_evo_dagster.analysis.diagnoses.divergence import Divergence
from agent_evo_dagster.analysis.diagnoses.learning import Learning
from agent_evo_dagster.analysis.diagnoses.mode_collapse import ModeCollapse
from agent_evo_dagster.analysis.diagnoses.protocol import Diagnosis
from agent_evo_dagster.analysis.diagnoses.truncation import Truncation
from agent_evo_dagster.analysis.diagnoses.turn_limit import TurnLimit
from agent_evo_dagster.analysis.diagnoses.zero_variance import ZeroVariance


def default_diagnoses() -> tuple[Diagnosis, ...]:
    """One of each."""
    return (Learning(), Collapse(), Divergence(), ZeroVariance(), Truncation(), TurnLimit(), ModeCollapse())
