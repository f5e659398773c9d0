import polars as pl
import pytest

from agent_evo_dagster.analysis.comparison import COMPARISON_SCHEMA, NamedRun, changed_settings, compare_runs
from agent_evo_dagster.analysis.series import read_run
from agent_evo_dagster.analysis.thresholds import load_thresholds
from agent_evo_dagster.analysis.views.training import training_by_round, training_rows
from tests.agent_evo_dagster.analysis.builders import metric_frame, rollout_frame


def run(name, series, rollouts=None, **settings):
    nothing = pl.DataFrame()
    found = nothing if rollouts is None else rollouts
    return NamedRun(name, read_run(metric_frame(series), found, nothing, settings, load_thresholds()))


def test_each_metric_of_each_run_is_a_row_with_its_move():
    frame = compare_runs(
        [run("a", {"reward": [0.0, 0.1, 0.2, 0.3]}), run("b", {"critic/score/mean": [0.5] * 4})]
    )
    assert frame.schema == COMPARISON_SCHEMA
    assert frame.select("run", "metric", "logged_as").rows() == [
        ("a", "reward", "reward"),
        ("b", "reward", "critic/score/mean"),
    ]
    assert frame["change_per_10"].to_list() == pytest.approx([1.0, 0.0])
    assert frame["low"][0] <= 1.0 <= frame["high"][0]


def test_a_metric_that_was_never_finite_is_told_and_one_that_was_not_logged_is_not():
    frame = compare_runs([run("a", {"reward": [0.1, 0.2], "loss": [None, None, None]})])
    rows = {row["metric"]: row for row in frame.to_dicts()}
    assert set(rows) == {"reward", "loss"}
    assert (rows["loss"]["not_finite"], rows["loss"]["steps"], rows["loss"]["end"]) == (3, 0, None)
    assert rows["reward"]["change_per_10"] is None  # two steps are no trend


def test_what_metrics_lack_is_taken_from_rollouts_under_their_name():
    frame = compare_runs([run("a", {"loss": [0.1] * 3}, rollout_frame([[0.0, 1.0]]))])
    assert "rollouts.reward" in frame["logged_as"].to_list()


def test_only_settings_that_differ_are_told():
    runs = [run("a", {}, learning_rate=1e-4, seed=1), run("b", {}, learning_rate=2e-5, seed=1), run("c", {})]
    assert changed_settings(runs) == {"learning_rate": {"a": "0.0001", "b": "2e-05"}}


def test_no_runs_are_an_empty_table():
    assert compare_runs([]).schema == COMPARISON_SCHEMA


def test_rounds_stand_side_by_side_with_the_rewards_move_and_what_was_not_logged():
    rounds = [
        training_rows(
            "round-0009", metric_frame({"reward": [0.0, 0.1, 0.2, 0.3], "kl": [0.01, None, 0.03, 0.02]})
        ),
        training_rows("round-0010", metric_frame({"reward": [0.3, 0.3]})),
    ]
    table = training_by_round(pl.concat(rounds))
    first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert (first["Round"], second["Round"]) == ("round-0009", "round-0010")
    assert first["Slope per 10 steps [interval]"].startswith("+1.00 [")
    assert first["KL"].endswith("(1 not finite)")
    assert (second["Slope per 10 steps [interval]"], second["KL"]) == ("n/a", "not logged")


def test_only_the_last_rounds_are_shown_and_the_rest_is_counted():
    rounds = [training_rows(f"round-{n:04}", metric_frame({"reward": [0.1] * 3})) for n in range(12)]
    table = training_by_round(pl.concat(rounds))
    assert (len(table.rows), table.rows[-1][0]) == (10, "round-0011")
    assert "the last 10 of 12" in table.caption
    assert training_by_round(pl.DataFrame()).rows == ()
