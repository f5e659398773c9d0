import re
import sys
from dataclasses import fields, replace

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_evo_dagster.analysis.markdown import render_markdown
from agent_evo_dagster.analysis.page_html import render_html
from agent_evo_dagster.analysis.report import ReportInputs, build_page, render_report
from agent_evo_dagster.analysis.views.not_proposed import NotProposed
from agent_evo_dagster.analysis.views.page import FindingList
from agent_evo_dagster.analysis.views.terms import QUOTED, QUOTED_HERE
from agent_evo_dagster.errors import AnalysisError, MissingExtraError
from tests.agent_evo_dagster.analysis.builders import evaluation_frame, life_frame, patch_frames
from tests.agent_evo_dagster.analysis.pages import Outline

HOSTILE = "</p><script>alert(1)</script><img src=x onerror=alert(1)>\"' {{ 7*7 }} \u202egnp | `x`"


@pytest.fixture(scope="module")
def report(inputs):
    return render_report(inputs)


@pytest.fixture(scope="module")
def page(inputs):
    return build_page(inputs)


def decided(inputs, decision, *events):
    """The same round with another decision, and what is on record."""
    return replace(inputs, **patch_frames(decision), life=life_frame(*events))


def test_the_verdict_comes_first_with_figures_and_who_decided(report):
    first = report.markdown[:600]
    assert first.startswith("# round-0002: The model got better; 1 patch to rllm-config approved.")
    assert "Held-out accuracy 0.20 → 0.60 (+0.40" in first
    assert "learning_rate 2e-5 → 1e-4; approved by the rule auto on 2026-01-05" in first


@pytest.mark.parametrize(
    ("after", "headline"),
    [
        ([True] * 24 + [False] * 16, "The model got better"),
        ([True] * 8 + [False] * 32, "No change of the model can be told from noise"),
        ([False] * 40, "The model got worse"),
    ],
)
def test_the_headline_follows_the_interval(inputs, after, headline):
    evaluation = evaluation_frame({"before": [True] * 8 + [False] * 32, "after": after})
    assert build_page(replace(inputs, evaluation=evaluation)).verdict.headline.startswith(headline)


def test_a_patch_that_waits_is_on_the_first_screen_with_both_commands(inputs):
    report = render_report(decided(inputs, "wait"))
    for text in (report.markdown, Outline(report.html).text):
        place = text.index("A person must decide")
        assert place < text.index("What was changed, and why", place)
        assert "agent-evo patches approve p-0123456789abcdef --by NAME --reason TEXT" in text
        assert "agent-evo patches reject p-0123456789abcdef --by NAME --reason TEXT" in text
    assert "no skill was changed. 1 patch waits for a person." in report.markdown


def test_a_rejected_patch_changes_no_skill(inputs):
    page = build_page(decided(inputs, "reject", "reject"))
    assert "no skill was changed" in page.verdict.headline
    assert "rejected by the rule auto" in page.verdict.sentences[1]


def test_a_reader_is_told_how_to_look_and_repeat(report):
    assert "agent-evo rounds show round-0002" in report.markdown
    assert "agent-evo rounds run round-0002" in report.markdown
    assert "--partition round-0002" in report.markdown


def test_only_an_approved_patch_is_offered_to_be_undone(inputs, report):
    undo = "agent-evo skills rollback p-0123456789abcdef --by NAME --reason TEXT"
    assert undo in report.markdown
    assert undo in Outline(report.html).text
    assert "skills rollback" not in render_report(decided(inputs, "reject", "reject")).markdown


def test_a_reader_is_told_that_what_was_approved_counts_from_the_next_round_on(inputs, report):
    told = "what it approved counts from the next one on"
    assert told in report.markdown[:900] and told in Outline(report.html).text
    assert told not in render_report(decided(inputs, "reject", "reject")).markdown


def test_a_report_made_again_says_what_became_of_its_patch_since(inputs):
    report = render_report(decided(inputs, "approve", "approve", "adopt", "take_out"))
    for text in (report.markdown, Outline(report.html).text):
        assert "The model got better; 1 patch to rllm-config taken out again since." in text
        assert "Since then: 2026-01-05 11:00 UTC: taken out of the skill by the rule regression" in text
        assert "agent-evo skills versions rllm-config" in text
        assert "agent-evo skills rollback rllm-config --to VERSION --by NAME --reason TEXT" in text
        assert "agent-evo skills rollback p-0123456789abcdef" not in text


def test_a_round_that_took_out_an_earlier_patch_says_so_first(inputs):
    row = {"patch_id": "p-1", "skill": "rllm-run", "result": "rolled_back", "approved_by": "policy:auto"}
    reason = "round-0002 got worse with it: 0.400 -> 0.100"
    kept = {"result": "kept", "reason": "Ada approved it"}
    rollbacks = pl.DataFrame([row | {"reason": reason}, row | kept])
    report = render_report(replace(inputs, rollbacks=rollbacks))
    assert "1 earlier patch taken out of rllm-run." in report.markdown.splitlines()[0]
    assert "p-1 was taken out of rllm-run: the model got worse." in Outline(report.html).text
    assert reason in Outline(report.html).text and "Ada approved it" in report.html


def test_prose_of_earlier_rounds_is_told_with_what_its_replay_found(inputs):
    replays = patch_frames()["patch_evaluation"].with_columns(
        patch_id=pl.lit("p-2"), judge=pl.lit("replay"), reason=pl.lit("it names failures of later sessions")
    )
    text = Outline(render_report(replace(inputs, replays=replays)).html).text
    assert "Patches of earlier rounds that wait, on the sessions since" in text
    assert "it names failures of later sessions" in text


def test_both_forms_hold_figures_findings_ledger_settings_and_hashes(report):
    for text in (report.markdown, Outline(report.html).text):
        assert "repeated_failure" in text
        assert "slow_learning" in text
        assert "+0.160" in text
        assert "learning_rate: {default: 1.0e-4}" in text
        assert "rllm-config/optimisation" in text
        assert "Exit code 2" in text
        assert "a" * 64 in text
        assert "34,447" in text


def test_the_page_asks_nothing_of_a_network(report):
    outline = Outline(report.html)
    assert "http" not in re.sub(r"base64,[A-Za-z0-9+/=]+", "", report.html).replace("http-equiv", "")
    assert not {"script", "link", "iframe", "object"} & set(outline.tags)
    assert "default-src 'none'" in report.html


def test_the_same_inputs_give_the_same_bytes(inputs, report):
    again = render_report(inputs)
    assert again == report
    assert set(report.figures) == {"reward_by_step", "accuracy_by_round"}
    assert all(png.startswith(b"\x89PNG") for png in report.figures.values())


def test_an_empty_round_has_a_report(inputs):
    frames = {
        field.name: pl.DataFrame()
        for field in fields(inputs)
        if isinstance(getattr(inputs, field.name), pl.DataFrame)
    }
    report = render_report(replace(inputs, **frames, costs=(), checkpoints={}, request=""))
    assert "The model was not evaluated; no skill was changed." in report.markdown
    assert "No patch was proposed." in report.html
    Outline(report.html)


def test_what_was_asked_for_and_is_not_proposed_is_told_with_the_reason(inputs):
    found = inputs.training_findings["finding_id"][0]
    hostile = "<b>\u202e|"
    kept = (NotProposed(found, "learning_rate", "was rejected"), NotProposed(hostile, "prose", hostile))
    report = render_report(replace(inputs, not_proposed=kept))
    for text in (report.html, report.markdown):
        assert "Not proposed, and why" in text and "was rejected" in text
        assert "<b>" not in text and "\u202e" not in text
    (row, _) = build_page(replace(inputs, not_proposed=kept)).not_proposed.rows
    assert row[0] == found and row[1].startswith(inputs.training_findings["kind"][0])
    assert "advice" in report.markdown


def test_a_round_that_kept_no_reasons_is_not_said_to_have_none(inputs):
    assert "Not kept by the version that made the round." in render_report(inputs).markdown
    none = build_page(replace(inputs, not_proposed=())).not_proposed
    assert none.empty == "Nothing that was asked for was left out."
    many = build_page(replace(inputs, not_proposed=(NotProposed("f", "prose", "r"),) * 41)).not_proposed
    assert len(many.rows) == 40 and many.caption == "Not proposed, and why (the first 40 of 41)"


def with_text(page, text):
    """The page with hostile text in every place that session text or a patch can reach."""
    finding = replace(page.session_findings.shown[0], summary=text, target=text, evidence=(text,), kind=text)
    tables = tuple(
        replace(table, rows=tuple(tuple(text for _ in row) for row in table.rows)) for table in page.sessions
    )
    said = {"title": text, "gist": text, "facts": (text,), "texts": ((text, text),)}
    excerpts = tuple(
        replace(one, title=text, steps=tuple(replace(step, **said) for step in one.steps))
        for one in page.excerpts
    )
    return replace(
        page,
        facts=(("Asked for", text),),
        excerpts=excerpts,
        session_findings=FindingList((finding,), 0, "session_findings"),
        sessions=tables,
        patches=tuple(
            replace(patch, description=text, diff=text, gate=text, decided=text) for patch in page.patches
        ),
    )


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.just(HOSTILE),
        st.text(alphabet="<>&\"'`|*_[]()!#{}%/=- a\n\u202e", max_size=30),
        st.text(max_size=30),
    )
)
def test_no_text_becomes_markup(page, text):
    def shape(outline):
        return [tag for tag in outline.tags if tag not in {"span", "pre"}], sorted(
            {name for name, _ in outline.attributes}
        )

    hostile, harmless = (
        Outline(render_html(with_text(page, text))),
        Outline(render_html(with_text(page, "x"))),
    )
    assert shape(hostile) == shape(harmless)
    assert "\u202e" not in hostile.text
    assert "\u202e" not in render_markdown(with_text(page, text))


def test_a_template_expression_in_a_text_is_not_evaluated(page):
    assert "{{ 7*7 }}" in Outline(render_html(with_text(page, HOSTILE))).text


def test_many_findings_are_cut_with_a_pointer_to_the_rest(inputs):
    many = pl.concat([inputs.session_findings.head(1)] * 45)
    report = render_report(replace(inputs, session_findings=many))
    assert "5 more are in the asset" in report.markdown
    assert "5 more are in the asset" in report.html


def test_a_finding_that_made_a_patch_is_shown_whatever_its_place(inputs):
    last = inputs.session_findings.head(1).with_columns(finding_id=pl.lit("f-00000000deadbeef"))
    many = pl.concat([*([inputs.session_findings.head(1)] * 45), last])
    report = render_report(replace(inputs, session_findings=many))
    assert '<article class="finding" id="f-00000000deadbeef">' in report.html
    assert '<dd><a href="#f-00000000deadbeef">repeated_failure: ' in report.html
    assert "5 more are in the asset" in report.html


def test_a_key_that_is_no_round_key_is_refused(inputs):
    with pytest.raises(AnalysisError, match="round key"):
        render_report(replace(inputs, round_key="a; rm -rf /"))


def test_a_frame_of_another_kind_is_refused_by_name(inputs):
    with pytest.raises(AnalysisError, match="frame of patches must have"):
        render_report(replace(inputs, patches=pl.DataFrame({"id": ["p"]})))


def test_a_missing_extra_names_the_line_that_installs_it(inputs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"agent-evo-dagster\[plots\]"):
        render_report(inputs)


def test_the_words_of_the_report_are_explained_in_both_forms(inputs: ReportInputs) -> None:
    report = render_report(inputs)
    assert "## Words" in report.markdown
    assert '<h2 id="words">Words</h2>' in report.html
    assert "Sampled accuracy is the one that a round is measured by" in report.html


def test_what_sessions_say_is_told_to_be_of_their_own_project(inputs: ReportInputs, report) -> None:
    for text in (report.markdown, Outline(report.html).text):
        assert text.index("Where calls failed", text.index("What was found")) < text.rindex(QUOTED)
    excerpts = [one for one in build_page(inputs).excerpts if one.title.startswith("Session")]
    assert excerpts and all(QUOTED_HERE in one.note for one in excerpts)
    assert Outline(report.html).text.count(QUOTED) == 3 and report.markdown.count(QUOTED) == 2


def test_a_hash_of_a_patch_says_which_text_it_is_of(report) -> None:
    for text in (report.markdown, Outline(report.html).text):
        words = " ".join(text.replace("`", "").split())
        assert f"{'0' * 64}, of the section before the patch" in words
        assert f"{'9' * 64}, of the section after it" in words


def test_what_is_trained_and_what_decides_have_names_of_their_own(report) -> None:
    for text in (report.markdown, Outline(report.html).text):
        said = [match for match in re.findall(r".{20}polic.{20}", text) if "call it the policy" not in match]
        assert all("policy:NAME" in match or "policy is manual" in match for match in said), said
        assert "The trained model" in text and "approved by the rule auto" in text
