"""Selections of the graph that run together. Not when they run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import dagster as dg

from assets.archives import freeze_rounds

if TYPE_CHECKING:  # what define_asset_job returns has no public name
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

EVOLUTION_ROUND = "evolution_round"
OPTIMIZE_SKILLS = "optimize_skills"
TRAIN_POLICY = "train_policy"
ADOPT = "adopt"
ARCHIVE_ROUNDS = "archive_rounds"

# The training worker is heavy: one run that trains at a time (see the run queue in dagster.yaml).
TRAINS = {"agent_evo/trains": "true"}
# The logger of automation.console instead of Dagster's own, which tells each event.
CONSOLE: Mapping[str, object] = {"loggers": {"console": {"config": {}}}}


def build_jobs() -> "list[UnresolvedAssetJobDefinition]":
    """The four ways to run a round, whole or in part."""
    everything = dg.AssetSelection.all()
    training = dg.AssetSelection.groups("training")
    archives = dg.AssetSelection.assets("lineage_archive")
    decided = dg.AssetSelection.assets("patch_decisions").downstream() - archives
    return [
        dg.define_asset_job(
            EVOLUTION_ROUND,
            selection=everything,
            tags=TRAINS,
            config=CONSOLE,
            description="A whole round: sessions, training, findings, gate, decision, compiled skills.",
        ),
        dg.define_asset_job(
            OPTIMIZE_SKILLS,
            selection=everything - training,
            tags=TRAINS,
            config=CONSOLE,
            description="From sessions to compiled skills, with the training that the round already has.",
        ),
        dg.define_asset_job(
            TRAIN_POLICY,
            selection=training,
            tags=TRAINS,
            config=CONSOLE,
            description="From the skills' settings to an evaluated model.",
        ),
        dg.define_asset_job(
            ADOPT,
            selection=decided,
            config=CONSOLE,
            description="Read the decisions again and compile what was approved since.",
        ),
    ]


def build_archive_job() -> dg.JobDefinition:
    """The job that freezes a range of rounds; its configuration names them."""

    @dg.job(name=ARCHIVE_ROUNDS, description="Freeze a range of finished rounds as one lineage archive.")
    def archive_rounds() -> None:
        freeze_rounds()

    return archive_rounds
