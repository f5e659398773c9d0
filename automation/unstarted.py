"""Rounds that were opened by a sensor or schedule and never began: it was ended between the two."""

import itertools

import dagster as dg

from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import Opener


def unstarted(instance: dg.DagsterInstance, store: RoundStore, opener: Opener) -> list[str]:
    """Keys of the rounds of `opener` that are not finished and of which Dagster has no run."""
    unfinished = list(itertools.filterfalse(store.finished, store.keys()))
    opened = [key for key in unfinished if store.frozen(key).opened_by == opener]
    return [key for key in opened if not _has_run(instance, key)]


def _has_run(instance: dg.DagsterInstance, key: str) -> bool:
    return instance.get_runs_count(dg.RunsFilter(tags={"dagster/partition": key})) > 0
