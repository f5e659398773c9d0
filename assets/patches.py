"""The assets of patches: what is proposed, what the gate found, and what was decided."""

from datetime import UTC, datetime

import dagster as dg
import polars as pl

from agent_evo_dagster.patches.decisions import decide
from agent_evo_dagster.patches.frames import patches_from_frame
from agent_evo_dagster.patches.propose import propose_patches
from agent_evo_dagster.patches.types import PATCH_SCHEMA, GateVerdict
from agent_evo_dagster.rounds.runs import train_dir
from agent_evo_dagster.training.config_sources import config_from_frame
from assets.gate import ProbeRunner
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, check, diff, numbers, table
from assets.schema import schema_problems
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource
from resources.trainer import TrainerResource

GROUP = "gate"
