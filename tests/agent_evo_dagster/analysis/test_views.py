import json
from dataclasses import replace

import polars as pl
import pytest

from agent_evo_dagster.analysis.calls import read_calls
from agent_evo_dagster.analysis.views import gate, policy, provenance, sessions
from agent_evo_dagster.analysis.views.costs import CostLine, cost_table
from agent_evo_dagster.analysis.views.verdict import verdict
from agent_evo_dagster.errors import AnalysisError, EvaluationError
from tests.agent_evo_dagster.analysis.builders import (
    call,
    coverage_frame,
    evaluation_frame,
    life_frame,
    patch_frames,
    rollout_frame,
    segment_frame,
    step_frame,
)

EMPTY = pl.DataFrame()


def views(frames, *events, **place):
    return gate.patch_views("round-0002", *frames, life_frame(*events, **place))


def patches(decision="approve", *events, **changes):
    return tuple(replace(view, **changes) for view in views(patch_frames(decision).values(), *events))


def calls_of(*given):
    steps = step_frame(given)
    return read_calls(steps, segment_frame(steps))


FAILED = call("Bash", {"command": "x"}, "failure", error="Exit code 3")


def test_calls_are_counted_by_tool_and_outcome_the_most_failing_first():
    table = sessions.calls_by_tool(calls_of(call("Read", {}), call("Read", {}, "denied"), FAILED))
    assert table.columns == (
        "Tool", "Calls", "success", "failure", "interrupted", "denied", "pending", "unknown", "Told by",
    )  # fmt: skip
    assert table.rows == (
        ("Bash", "1", "0", "1", "0", "0", "0", "0", "test (1)"),
        ("Read", "2", "1", "0", "0", "1", "0", "0", ""),
    )


def test_failures_are_grouped_by_tool_and_signature():
    table = sessions.failures_by_signature(calls_of(FAILED, FAILED, call("Read", {})))
    assert table.rows == (("Bash", "Exit code 3", "2", "1", "rllm-run", "st-0"),)


def test_a_long_list_of_signatures_is_cut_and_says_so():
    names = [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "eps",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "la",
        "mu",
        "nu",
        "xi",
        "om",
        "pi",
    ]
    table = sessions.failures_by_signature(
        calls_of(*(call("Bash", {}, "failure", error=name) for name in names))
    )
    assert len(table.rows) == 15
    assert table.caption == "Failures by signature (the 15 most frequent of 16)"


def test_segments_are_summed_by_skill():
    steps = step_frame([FAILED, call("Read", {})])
    assert sessions.segments_by_skill(segment_frame(steps)).rows == (("rllm-run", "1", "1", "2", "1", "50"),)
    assert sessions.segments_by_skill(segment_frame(steps, None)).rows[0][0] == "(no skill)"


def test_tools_and_skills_that_sessions_name_are_bounded():
    tools = sessions.calls_by_tool(calls_of(*(call(f"mcp__{n:02}", {}) for n in range(50)), FAILED))
    assert len(tools.rows) == 40 and tools.rows[0][0] == "Bash"
    assert tools.caption == "Calls by tool and outcome (the 40 of 51 that failed most)"
    segments = pl.concat([segment_frame(step_frame([FAILED]), f"skill-{n:02}") for n in range(50)])
    assert len(sessions.segments_by_skill(segments).rows) == 40


def test_the_trend_is_told_of_the_last_rounds():
    evaluation = evaluation_frame({"before": [True], "after": [False]})
    trend = pl.concat([policy.trend_rows(f"round-{n:04}", n, evaluation) for n in range(1, 13)])
    table = policy.trend_table(trend)
    assert len(table.rows) == 20 and table.rows[0][0] == "round-0003"
    assert table.caption == "Held-out accuracy by round (the last 10 of 12)"
    assert len(policy.trend_table(trend, 200).rows) == 24


def test_broken_lines_are_counted_by_reason():
    table = sessions.quarantined(pl.DataFrame({"reason": ["not JSON", "null", "not JSON"]}))
    assert table.rows == (("not JSON", "2"), ("null", "1"))
    assert sessions.quarantined(EMPTY).empty == "Every line was read."


def test_coverage_is_told_apart_by_whether_there_is_a_transcript() -> None:
    table = sessions.coverage(coverage_frame((True, 5, 1, 2, 1), (True, 1, 0, 0, 0), (False, 0, 4, 0, 0)))
    assert table.rows == (
        ("with a transcript", "2", "6", "1", "2", "1"),
        ("hooks alone", "1", "0", "4", "0", "0"),
    )
    assert sessions.coverage(coverage_frame()).rows == ()


def test_a_patch_shows_what_it_moves_and_who_decided():
    (patch,) = patches()
    assert patch.changes == (("learning_rate", "2e-5", "1e-4"),)
    assert patch.decided.startswith("approved by the rule auto on 2026-01-05 09:00 UTC")
    assert patch.gate.startswith("accept by probe")
    assert patch.commands == ()


def test_a_patch_of_prose_is_told_by_its_description():
    (patch,) = patches(changes=())
    assert gate.change_words(patch) == "Raise the learning rate fivefold."


def test_a_patch_that_nobody_judged_or_decided_says_so():
    (patch,) = views([patch_frames()["patches"], EMPTY, EMPTY])
    assert (patch.gate, patch.standing, patch.decided) == ("not judged", "none", "no decision is on record")


def test_an_id_in_a_command_cannot_end_it():
    frames = patch_frames("wait")
    renamed = [frame.with_columns(pl.lit("p; rm -rf ~").alias("patch_id")) for frame in frames.values()]
    (patch,) = views(renamed)
    assert patch.commands[0] == "agent-evo patches approve 'p; rm -rf ~' --by NAME --reason TEXT"


def test_the_ledger_names_the_tasks_that_got_worse():
    judged = patch_frames()["patch_evaluation"].with_columns(
        regressions=pl.lit(["t1", "t2", "t3", "t4", "t5"], dtype=pl.List(pl.String))
    )
    (row,) = gate.gate_ledger(judged).rows
    assert row[5:8] == ("+0.160 [+0.090, +0.230]", "t1, t2, t3 and 2 more", "accept")


def test_a_patch_that_could_not_be_measured_has_no_figures():
    nothing = pl.lit(None, dtype=pl.Float64)
    judged = patch_frames()["patch_evaluation"].with_columns(
        baseline=nothing, candidate=nothing, difference=nothing, low=nothing, high=nothing
    )
    assert gate.gate_ledger(judged).rows[0][3:6] == ("n/a", "n/a", "not measured")


@pytest.mark.parametrize(
    ("decision", "notes"),
    [
        ("approve", ("1 approved, in no skill yet", "learning_rate 2e-5 → 1e-4")),
        ("wait", ("1 waits for a person",)),
        ("reject", ("1 rejected",)),
    ],
)
def test_patches_are_counted_by_their_state(decision, notes):
    assert gate.patch_card(patches(decision)).notes == notes


def test_a_round_without_patches_says_so_on_its_card():
    card = gate.patch_card(())
    assert (card.figure, card.notes) == ("0 patches", ("nothing was proposed",))


def test_changes_are_paired_by_task():
    changes = policy.changes_of(evaluation_frame({"before": [False] * 10, "after": [True] * 5 + [False] * 5}))
    accuracy = changes["sampled", "accuracy"]
    assert (accuracy.before, accuracy.after, accuracy.difference, accuracy.tasks) == (0.0, 0.5, 0.5, 10)
    assert accuracy.low <= 0.5 <= accuracy.high


def test_one_policy_alone_has_no_change():
    assert policy.changes_of(evaluation_frame({"after": [True]})) == {}
    assert policy.policy_card({}).figure == "not measured"


def test_policies_scored_on_different_tasks_are_not_compared():
    with pytest.raises(EvaluationError, match="same"):
        policy.changes_of(evaluation_frame({"before": [True], "after": [True, False]}))


def test_the_card_shows_both_ways_of_decoding():
    evaluation = pl.concat(
        [
            evaluation_frame({"before": [False] * 4, "after": [True] * 4}, mode)
            for mode in ("sampled", "greedy")
        ]
    )
    card = policy.policy_card(policy.changes_of(evaluation))
    assert card.figure == "0.00 → 1.00"
    assert "greedy 0.00 → 1.00" in card.notes[1]
    assert len(policy.before_and_after(policy.changes_of(evaluation)).rows) == 4


def test_rollouts_are_told_by_their_end():
    table = policy.rollout_table(rollout_frame([[0.0, 1.0]], finish="length"))
    assert table.rows == (("length", "2", "100", "0.50", "1.00", "0.00"),)


def test_an_earlier_round_of_another_shape_is_refused():
    with pytest.raises(AnalysisError, match="earlier rounds"):
        policy.whole_trend(pl.DataFrame({"round": ["r"]}), policy.trend_rows("r", 1, EMPTY))


def test_settings_that_somebody_gave_are_shown_with_their_source_and_the_others_folded():
    rows = [("beta", "0.0", "skill", "rllm-config/a"), ("seed", "614774089", "manifest", "round manifest")]
    left = [("dataset_path", '""', "default", "training defaults")]
    settings = pl.DataFrame(rows + left, schema=["name", "value", "source", "origin"], orient="row")
    given, defaults = provenance.settings_tables(settings)
    assert [row[:2] for row in given.rows] == [("beta", "0"), ("seed", "614774089")]
    assert given.rows[0][2:] == ("skill", "rllm-config/a") and not given.folded
    assert defaults.rows == (("dataset_path", "none", "default", "training defaults"),) and defaults.folded


def judged(by_seed: list[dict[str, object]], **evidence: object) -> pl.DataFrame:
    told = json.dumps({"facts": {}, "measured": {"by_seed": by_seed}, **evidence})
    return patch_frames()["patch_evaluation"].with_columns(evidence=pl.lit(told))


def test_each_seed_of_the_gate_is_told_with_both_sides():
    seeds = [
        {"seed": 7, "baseline": 0.5, "candidate": 0.7512, "difference": 0.2512},
        {"seed": 8, "difference": -0.1},  # evidence of before both sides were kept
    ]
    patch = "p-0123456789abcdef"
    assert gate.seed_table(judged(seeds, facts={"seeds": [7, 8]})).rows == (
        (patch, "7", "0.500", "0.751", "+0.251"),
        (patch, "8", "not kept", "not kept", "-0.100"),
    )


def test_one_seed_or_what_no_seed_tells_has_no_table_by_seed():
    one = {"seed": 7, "baseline": 0.5, "candidate": 0.75, "difference": 0.25}
    assert not gate.seed_table(judged([one], facts={"seeds": [7]})).rows
    assert not gate.seed_table(judged([one, one], facts=None)).rows
    assert not gate.seed_table(judged([], facts={"seeds": [7]}, measured=None)).rows


def test_each_who_spends_has_a_line_of_costs_and_what_nobody_told_is_said():
    lines = (
        CostLine("training", {"rollout": 1280, "optimiser step": 1, "tokens": 34447}, "tokens sampled"),
        CostLine("analyst", {"call": 0, "tokens": None, "US dollars": None}),
        CostLine("judge llm", {"call": 2, "tokens": 900, "US dollars": 0.25}),
        CostLine("sessions", {"tokens": 70, "US dollars": None}, in_part=frozenset({"tokens", "US dollars"})),
    )
    assert cost_table(lines).rows == (
        ("training", "1280 rollouts, 1 optimiser step", "34,447", "own machines", "tokens sampled"),
        ("analyst", "none", "not told", "not told", ""),
        ("judge llm", "2 calls", "900", "0.25", ""),
        ("sessions", "none", "70 and more that is not told", "not told", ""),
    )


def test_a_headline_counts_patches_and_names_skills():
    two = patches() + patches(patch_id="p-2", target="rllm-run/start")
    assert (
        verdict(two, None).headline
        == "The model was not evaluated; 2 patches to rllm-config, rllm-run approved."
    )
    assert "2 patches wait for a person." in verdict(patches("wait") * 2, None).headline


def test_every_patch_has_its_sentence():
    told = verdict(patches() + patches("reject"), None).sentences
    assert [sentence.split(":")[0] for sentence in told[1:3]] == ["rllm-config/optimisation"] * 2
    assert len(told) == 4 and told[3].startswith("This round trained with the skills as they were")
