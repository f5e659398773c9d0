"""Findings from training metrics: every diagnosis over a run. No rule of any one diagnosis."""

from collections.abc import Sequence

import polars as pl

from agent_evo_dagster.analysis.diagnoses.protocol import Diagnosis
from agent_evo_dagster.analysis.diagnoses.registry import default_diagnoses
from agent_evo_dagster.analysis.findings import to_frame
from agent_evo_dagster.analysis.series import Ending, Settings, read_run
from agent_evo_dagster.analysis.thresholds import Thresholds, load_thresholds


def find_in_training(
    metrics: pl.DataFrame,
    rollouts: pl.DataFrame,
    evaluation: pl.DataFrame,
    settings: Settings,
    *,
    ending: Ending | None = None,
    thresholds: Thresholds | None = None,
    diagnoses: Sequence[Diagnosis] | None = None,
) -> pl.DataFrame:
    """Findings (FINDING_SCHEMA) on one training run.

    `metrics` are rows of step, name, value, finite, with TRL's or verl's names; `rollouts` and `evaluation`
    may be empty. `settings` are those of the run, by name; `ending` is how its process ended.

    Raises:
        AnalysisError: a frame lacks a column.
    """
    run = read_run(metrics, rollouts, evaluation, settings, thresholds or load_thresholds(), ending=ending)
    chosen = default_diagnoses() if diagnoses is None else diagnoses
    return to_frame(finding for diagnosis in chosen for finding in diagnosis.find(run))
