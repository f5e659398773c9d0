"""The page over all rounds: what each did, what became of its patches, and where its report is."""

import re
from dataclasses import replace

import polars as pl
import pytest

from agent_evo_dagster.analysis.all_rounds import AllRoundsInputs, render_all_rounds
from agent_evo_dagster.analysis.types import TREND_SCHEMA
from agent_evo_dagster.analysis.views import all_rounds as views
from agent_evo_dagster.analysis.views.costs import CostLine
from agent_evo_dagster.patches.life import LIFE_SCHEMA
from tests.agent_evo_dagster.analysis.builders import life_frame
from tests.agent_evo_dagster.analysis.pages import Outline
from tests.agent_evo_dagster.analysis.rounds import all_of, line

PATCH = "p-0123456789abcdef"


def test_the_first_lines_say_how_many_how_good_and_what_waits():
    second = line(2, decision="wait", events=(), parent="round-0001")
    told = render_all_rounds(all_of(line(1), second)).markdown
    assert told.startswith("# 2 rounds; 1 patch in the skills, 0 taken out again.")
    assert "Held-out accuracy, sampled: 0.20 \\[" in told
    assert "before round-0001, 0.60 \\[" in told and "after round-0002" in told
    assert "1 patch waits for a person." in told


def test_a_round_is_told_in_a_row_that_leads_to_its_report():
    table = views.round_table([line(1, steps=6)])
    (row,) = table.rows
    assert row[:4] == ("round-0001", "base of its model", "complete", "0.20 → 0.60")
    assert row[4].startswith("+0.40 [")
    assert row[5:8] == ("1 in the skill", "no round before it to compare with", "6")
    assert row[8:] == ("0.4", "2026-01-05 09:00", "nothing beyond the skills")
    assert table.links == ("round-0001/report.html",)


def test_settings_are_told_where_they_differ_from_those_of_the_parent():
    rounds = [
        line(1, settings={"learning_rate": "2e-05", "seed": "0", "model": '"tiny"'}),
        line(2, settings={}, parent="round-0001"),
        line(3, settings={"learning_rate": "0.5", "model": '"tiny"'}, parent="round-0001"),  # and failed
        line(4, settings={"learning_rate": "0.0001", "seed": "1", "model": '"tiny"'}, parent="round-0001"),
        line(5, settings={"learning_rate": "0.0001", "seed": "2"}, parent="round-0004"),
        line(6, parent="round-0002"),
    ]
    assert [row[6] for row in views.round_table(rounds).rows] == [
        "no round before it to compare with",
        "no training yet",
        "learning_rate 2e-5 → 0.5",
        "learning_rate 2e-5 → 1e-4",
        "model tiny → not set",
        "those of round-0002 are not stored",
    ]


def test_progress_is_told_along_the_rounds_that_led_to_the_newest():
    rounds = all_of(line(1), line(2), line(3, parent="round-0002"), line(4, parent="round-0001"))
    assert "before round-0001, 0.60 \\[" in render_all_rounds(rounds).markdown
    beside = all_of(line(1), line(2), line(3, parent="round-0002"))
    told = render_all_rounds(beside).markdown
    assert "before round-0002, 0.60 \\[" in told and "after round-0003" in told


def test_a_patch_is_told_as_it_stands_now_and_leads_to_its_place():
    one = line(1, events=("approve", "adopt", "take_out"))
    (row,) = views.patch_table([one]).rows
    assert row[:4] == (PATCH, "round-0001", "rllm-config/optimisation", "learning_rate 2e-5 → 1e-4")
    assert row[4].startswith(
        "taken out again; 2026-01-05 11:00 UTC: taken out of the skill by the rule regression"
    )
    assert row[5].startswith("accept by probe") and row[6].endswith("the rule auto on 2026-01-05 09:00 UTC")
    assert views.patch_table([one]).links == (f"round-0001/report.html#{PATCH}",)


def test_the_record_has_the_newest_first():
    rows = views.record_table(life_frame("approve", "adopt", "take_out", round_key="round-0002")).rows
    assert [row[2] for row in rows] == ["taken out of the skill", "written into the skill", "approved"]
    assert rows[0][3:5] == ("the rule regression", "round-0002")


def test_costs_are_told_by_round_and_in_all():
    probe = CostLine("judge probe", {"rollout": 1600, "tokens": 50})
    told, untold = (CostLine("analyst", {"call": 0, "tokens": n, "US dollars": n}) for n in (7, None))
    rounds = [line(1, costs=(probe, told)), line(2, costs=(untold,))]
    table = views.cost_by_round(rounds)
    assert table.columns == (
        "Round", "judge probe: rollouts", "judge probe: tokens", "analyst: tokens", "analyst: US dollars",
    )  # fmt: skip
    assert table.rows == (
        ("round-0001", "1600", "50", "7", "7"),
        ("round-0002", "0", "0", "not told", "not told"),
    )
    card = views.cards(rounds)[3]
    assert card.notes == (
        "in all 57 tokens and more that is not told: analyst",
        "in all 7 US dollars and more that is not told: analyst",
    )


def test_a_sum_of_a_part_is_told_as_such_in_its_cell_and_in_all():
    amounts = {"tokens": 7, "US dollars": 0}
    part = CostLine("sessions", amounts, in_part=frozenset(amounts))
    rounds = [line(1, costs=(part,)), line(2, costs=(CostLine("sessions", amounts),))]
    more = "and more that is not told"
    assert views.cost_by_round(rounds).rows == (
        ("round-0001", f"7 {more}", f"0 {more}"),
        ("round-0002", "7", "0"),
    )
    assert views.cards(rounds)[3].notes == (
        f"in all 14 tokens {more}: sessions",
        f"in all 0 US dollars {more}: sessions",
    )


def test_nobody_having_spent_a_unit_gives_it_no_column():
    assert views.cost_by_round([line(1, costs=(CostLine("operator", {"tokens": 0}),))]).columns == ("Round",)


def test_a_round_that_did_not_end_or_cannot_be_told_hides_no_other():
    odd = line(
        2,
        status="open",
        settings={},
        changes={},
        patches=(),
        costs=(),
        reward=None,
        link="",
        problem="no scores",
    )
    report = render_all_rounds(all_of(line(1), odd))
    assert "- round-0002: no scores" in report.markdown
    assert (
        "| round-0002 | base of its model | open | not measured | n/a | none | no training yet | 6 |"
        in report.markdown
    )
    assert "round-0002/report.html" not in report.html
    assert "1 complete; 1 open" in report.markdown


def test_before_the_first_round_the_page_says_how_to_begin():
    nothing = AllRoundsInputs((), pl.DataFrame(schema=TREND_SCHEMA), pl.DataFrame(schema=LIFE_SCHEMA))
    report = render_all_rounds(nothing)
    assert report.markdown.startswith("# No round is open yet.\n\n- Open one: agent-evo rounds open\n")
    Outline(report.html)


def test_the_same_rounds_give_the_same_bytes():
    assert render_all_rounds(all_of(line(1), line(2))) == render_all_rounds(all_of(line(1), line(2)))


def test_the_page_has_a_bound_and_says_what_it_leaves_out():
    one = line(1, request='"' * 5000)
    many = [replace(one, key=f"round-{number:04}") for number in range(1, 251)]
    report = render_all_rounds(replace(all_of(one), rounds=many))
    assert "Rounds (the last 200 of 250)" in report.markdown
    assert "Patches (the last 200 of 250)" in report.markdown
    assert len(report.html.encode()) < 1_000_000


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\u202e` | x", "[a](http://x)"])
def test_no_text_becomes_markup(text):
    plain = line(1, request=text, problem=text)
    patches = tuple(replace(one, description=text, gate=text, changes=()) for one in plain.patches)
    hostile = replace(plain, patches=patches)
    harmless = line(1, request="x", problem="x")
    pages = [render_all_rounds(all_of(one)) for one in (hostile, harmless)]
    assert Outline(pages[0].html).tags == Outline(pages[1].html).tags
    assert "<script" not in pages[0].markdown and "\u202e" not in pages[0].html + pages[0].markdown
    assert not re.search(r"(?<!\\)\]\(", pages[0].markdown.replace("](<", ""))
