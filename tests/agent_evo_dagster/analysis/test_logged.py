"""The evidence of training: metrics that findings name, and answers to read."""

from dataclasses import replace

import polars as pl
import pytest

from agent_evo_dagster.analysis.findings import make_finding, to_frame
from agent_evo_dagster.analysis.report import render_report
from agent_evo_dagster.analysis.types import Severity
from agent_evo_dagster.analysis.views.findings import finding_list
from agent_evo_dagster.analysis.views.logged import answers, metric_table, with_metrics
from tests.agent_evo_dagster.analysis.builders import metric_frame, rollout_frame
from tests.agent_evo_dagster.analysis.pages import Outline

EMPTY = pl.DataFrame()


def found(*evidence):
    told = {"severity": Severity.INFO, "summary": "x", "count": 1, "confidence": 0.5, "data": {}}
    return finding_list(to_frame([make_finding("training", "t", evidence=evidence, **told)]), asset="a")


def test_a_finding_leads_to_the_metrics_that_it_rests_on():
    (one,) = with_metrics(found("kl@1-6", "a/b@2-5", "no metric")).shown
    assert [(place.anchor, place.words) for place in one.places] == [("metrics", "kl, a/b")]
    assert with_metrics(found("no metric")).shown[0].places == ()


def test_the_metrics_that_findings_name_are_told_and_the_reward_always():
    metrics = metric_frame({"kl": [0.1, None, 0.3], "loss": [1.0] * 3, "reward": [0.2, 0.5, 0.4]})
    table = metric_table(metrics, found("kl@1-3").shown)
    assert table.rows == (
        ("kl", "1-3", "0.1", "0.3", "0.1", "0.3", "▁█"),
        ("reward", "1-3", "0.2", "0.4", "0.2", "0.5", "▁█▆"),
    )
    assert metric_table(EMPTY, ()).rows == ()
    assert metric_table(metric_frame({"reward": [None]}), ()).rows == ()


@pytest.mark.parametrize(
    ("rewards", "shown"),
    [
        ([0.5, 1.0, 0.0, 0.25, 0.75], ["1.000", "0.750", "0.000", "0.250"]),
        ([0.5, 1.0, 0.0], ["1.000", "0.500", "0.000"]),
        ([0.5], ["0.500"]),
    ],
)
def test_the_best_and_the_worst_answers_are_there_to_read_each_once(rewards, shown):
    (one,) = answers(rollout_frame([rewards]))
    assert [step.title for step in one.steps] == [f"reward {text}" for text in shown]
    assert one.steps[0].texts == (("Task", "1+1"), ("Expected", "2"), ("Answer", "2"))
    assert (one.title, one.steps[0].outcome) == ("Answers of training step 1, the best and the worst", "stop")


def test_where_no_answer_can_be_ranked_none_is_shown():
    assert answers(EMPTY) == ()
    assert answers(rollout_frame([[float("nan")]])) == ()


def test_what_a_policy_said_is_text_and_bounded(inputs):
    said = "<script>alert(1)</script>\u202e" + "x" * 100_000
    report = render_report(replace(inputs, rollouts=inputs.rollouts.with_columns(text=pl.lit(said))))
    outline = Outline(report.html)
    assert "script" not in outline.tags
    assert "<script>alert(1)</script>[U+202E]xxx" in outline.text
    assert "characters are left out here]" in outline.text
    assert len(report.html) < 300_000
