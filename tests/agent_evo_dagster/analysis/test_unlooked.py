"""What could not be looked for in a run: by pattern, with what was missing."""

import polars as pl
import pytest

from agent_evo_dagster.analysis.diagnoses.registry import default_diagnoses
from agent_evo_dagster.analysis.series import Ending, Run, read_run
from agent_evo_dagster.analysis.thresholds import load_thresholds
from agent_evo_dagster.analysis.unlooked import not_looked_for
from agent_evo_dagster.training.types import METRIC_SCHEMA

TABLE = load_thresholds()
PATTERNS = {one.name for one in default_diagnoses()} - {"syndrome"} | set(TABLE.syndromes)
ROLLOUTS = pl.DataFrame(
    {
        "step": [1, 1, 2, 2],
        "group": [0, 0, 0, 0],
        "reward": [0.0, 1.0, 0.0, 1.0],
        "finish": ["stop"] * 4,
        "completion_ids": [[1], [1, 2]] * 2,
    }
)


def run_of(*names: str, steps: int = 6, rollouts: pl.DataFrame | None = None, log: str = "done") -> Run:
    """A run that logged these, by the names of the table."""
    rows = [(step, TABLE.names[name][0], 0.5, True) for name in names for step in range(1, steps + 1)]
    metrics = pl.DataFrame(rows, schema=METRIC_SCHEMA, orient="row")
    empty = pl.DataFrame()
    return read_run(metrics, empty if rollouts is None else rollouts, empty, {}, TABLE, ending=Ending(log))


def test_in_an_empty_run_nothing_could_be_looked_for_but_what_a_log_tells() -> None:
    assert not_looked_for(run_of()).keys() == PATTERNS - {"out_of_memory"}
    assert "--exit-code" in not_looked_for(run_of(log=""))["out_of_memory"][0]


def test_in_a_run_that_has_everything_nothing_is_missing() -> None:
    every = [name for name in TABLE.names if "*" not in TABLE.names[name][0]]
    assert not_looked_for(run_of(*every, rollouts=ROLLOUTS)) == {}


@pytest.mark.parametrize(
    ("missing", "patterns"),
    [
        ("kl", {"kl_divergence", "clip_fraction_low"}),
        ("length", {"length_runaway", "length_bias", "reward_hacking", "shortcut"}),
        ("held_out", {"held_out_gap"}),
        ("turns", set()),
        ("entropy", {"mode_collapse", "exploration_exhausted"}),
    ],
)
def test_what_lacks_one_metric_is_what_needs_it(missing: str, patterns: set[str]) -> None:
    found = not_looked_for(run_of(*(set(TABLE.names) - {missing}), rollouts=ROLLOUTS))
    assert found.keys() == patterns
    assert all(f"{missing} not logged" in words for (words, *_) in found.values())


def test_a_metric_that_was_logged_too_seldom_is_told_as_such() -> None:
    found = not_looked_for(run_of(*TABLE.names, steps=3, rollouts=ROLLOUTS))
    assert "length has 3 steps, and a trend needs 5" in found["length_bias"]


def test_rollouts_of_a_trainer_that_none_has_are_told_without_a_column() -> None:
    found = not_looked_for(run_of(*TABLE.names))
    assert found == {"length_bias": ("no rollouts to compare length and reward",)}
