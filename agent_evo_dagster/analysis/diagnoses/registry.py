"""The training diagnoses that run by default: the patterns, then the syndromes. No rule of any one."""

from agent_evo_dagster.analysis.diagnoses.clip_fraction import ClipFractionHigh, ClipFractionLow
from agent_evo_dagster.analysis.diagnoses.collapse import Collapse
from agent_evo_dagster.analysis.diagnoses.gradient_explosion import GradientExplosion
from agent_evo_dagster.analysis.diagnoses.held_out_gap import HeldOutGap
from agent_evo_dagster.analysis.diagnoses.kl_divergence import KlDivergence
from agent_evo_dagster.analysis.diagnoses.learning import Learning
from agent_evo_dagster.analysis.diagnoses.length_runaway import LengthRunaway
from agent_evo_dagster.analysis.diagnoses.mode_collapse import ModeCollapse
from agent_evo_dagster.analysis.diagnoses.out_of_memory import OutOfMemory
from agent_evo_dagster.analysis.diagnoses.protocol import Diagnosis
from agent_evo_dagster.analysis.diagnoses.truncation import Truncation
from agent_evo_dagster.analysis.diagnoses.turn_limit import TurnLimit
from agent_evo_dagster.analysis.diagnoses.zero_variance import ZeroVariance
from agent_evo_dagster.analysis.syndromes.hypotheses import Hypotheses


def default_diagnoses() -> tuple[Diagnosis, ...]:
    """One of each."""
    return (
        Learning(),
        Collapse(),
        KlDivergence(),
        ModeCollapse(),
        LengthRunaway(),
        GradientExplosion(),
        OutOfMemory(),
        TurnLimit(),
        HeldOutGap(),
        ClipFractionHigh(),
        ClipFractionLow(),
        ZeroVariance(),
        Truncation(),
        Hypotheses(),
    )
