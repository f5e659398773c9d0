"""The report of a round: its inputs and its two forms. The words are in views, the look in templates."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from agent_evo_dagster.analysis.calls import read_calls
from agent_evo_dagster.analysis.markdown import render_markdown
from agent_evo_dagster.analysis.page_html import render_html
from agent_evo_dagster.analysis.plots import accuracy_by_round, reward_by_step
from agent_evo_dagster.analysis.text import excerpt, plural
from agent_evo_dagster.analysis.views import gate, policy, provenance, sessions
from agent_evo_dagster.analysis.views.costs import CostLine, cost_table
from agent_evo_dagster.analysis.views.findings import finding_list, with_places, with_reasons
from agent_evo_dagster.analysis.views.logged import answers, metric_table, with_metrics
from agent_evo_dagster.analysis.views.not_proposed import NotProposed, not_proposed_table
from agent_evo_dagster.analysis.views.page import Card, Page, PatchView, Table
from agent_evo_dagster.analysis.views.trail import trail
from agent_evo_dagster.analysis.views.training import training_by_round, training_rows
from agent_evo_dagster.analysis.views.verdict import verdict
from agent_evo_dagster.errors import AnalysisError

_RULES = {
    "auto": "the approval rule auto",
    "manual": "a person (approval rule manual)",
    "two_person": "two people (approval rule two_person)",
}
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,120}")


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """Everything that a report tells; frames have the schemas of their rooms, and may be empty.

    Only what is deterministic: a report made again from the same has the same bytes.
    """

    round_key: str
    number: int
    parent: str | None  # the round whose model it goes on from; None: it starts from a base
    opened_at: datetime
    request: str
    seed: int
    policy: str  # the approval rule: "auto", "manual" or "two_person"
    steps: pl.DataFrame
    segments: pl.DataFrame
    quarantine: pl.DataFrame
    coverage: pl.DataFrame  # COVERAGE_SCHEMA
    session_findings: pl.DataFrame
    training_findings: pl.DataFrame
    metrics: pl.DataFrame
    rollouts: pl.DataFrame
    evaluation: pl.DataFrame
    patches: pl.DataFrame  # PATCH_SCHEMA with `result_hash`
    patch_evaluation: pl.DataFrame
    patch_decisions: pl.DataFrame
    replays: pl.DataFrame  # PATCH_EVALUATION_SCHEMA: prose of earlier rounds, judged on this one's sessions
    rollbacks: pl.DataFrame  # ROLLBACK_SCHEMA: what this round took out because it got worse
    life: pl.DataFrame  # LIFE_SCHEMA: what became of patches, of this round and of others
    trend: pl.DataFrame  # TREND_SCHEMA of earlier rounds, see views.policy.trend_rows; may be empty
    training_trend: pl.DataFrame  # COMPARISON_SCHEMA of earlier rounds, in their order; may be empty
    settings: pl.DataFrame  # name, value (JSON text), source, origin
    compiled: pl.DataFrame  # name, sha256 of each skill
    checkpoints: Mapping[str, str]  # name -> SHA-256
    costs: tuple[CostLine, ...]
    not_proposed: tuple[NotProposed, ...] | None = None  # None: the round was made before that was kept
    operator: str = ""  # what an agent did that followed the skills, in one line; empty: none did


@dataclass(frozen=True, slots=True)
class Report:
    """A report in both forms; figures are PNG files by name, the same that the HTML holds as SVG."""

    markdown: str
    html: str
    figures: dict[str, bytes]


def render_report(inputs: ReportInputs) -> Report:
    """Write the report of one round.

    Raises:
        AnalysisError: a frame lacks a column, or the round key is none.
        MissingExtraError: the packages for plots are not installed.
    """
    page = build_page(inputs)
    return Report(render_markdown(page), render_html(page), {plot.name: plot.png for plot in page.plots})


def build_page(inputs: ReportInputs) -> Page:
    """What the report says, before it is written in either form."""
    if not _KEY.fullmatch(inputs.round_key):
        raise AnalysisError(
            f"A report needs a round key of 1 to 120 letters, digits, '_', '.' and '-'; "
            f"got {inputs.round_key!r}. Give the key that `agent-evo rounds list` shows."
        )
    patches = gate.patch_views(
        inputs.round_key, inputs.patches, inputs.patch_evaluation, inputs.patch_decisions, inputs.life
    )
    cited = {name for patch in patches for name in patch.findings}
    in_training = finding_list(inputs.training_findings, asset="training_findings", cited=cited)
    in_sessions = finding_list(inputs.session_findings, asset="session_findings", cited=cited)
    patches = with_reasons(patches, (*in_training.shown, *in_sessions.shown))
    evidence = trail(in_sessions.shown, inputs.steps, inputs.segments)
    trend, changes = _trend(inputs), policy.changes_of(inputs.evaluation)
    return Page(
        round_key=inputs.round_key,
        facts=_facts(inputs),
        verdict=verdict(patches, changes.get(("sampled", "accuracy")), gate.taken_out(inputs.rollbacks)),
        cards=_cards(inputs, patches, changes),
        plots=(reward_by_step(inputs.metrics, inputs.rollouts), accuracy_by_round(trend)),
        patches=patches,
        not_proposed=not_proposed_table(inputs.not_proposed, (*in_training.shown, *in_sessions.shown)),
        ledger=gate.gate_ledger(inputs.patch_evaluation),
        seeds=gate.seed_table(inputs.patch_evaluation),
        later=(gate.replay_table(inputs.replays), gate.rollback_table(inputs.rollbacks)),
        training_findings=with_metrics(in_training),
        metrics=metric_table(inputs.metrics, in_training.shown),
        session_findings=with_places(in_sessions, evidence.places),
        excerpts=(*answers(inputs.rollouts), *evidence.excerpts),
        policy=(
            policy.before_and_after(changes),
            policy.trend_table(trend),
            training_by_round(_training_trend(inputs)),
            policy.rollout_table(inputs.rollouts),
        ),
        sessions=_session_tables(inputs),
        provenance=(
            cost_table(inputs.costs),
            *provenance.settings_tables(inputs.settings),
            provenance.hash_table(inputs.checkpoints, inputs.compiled),
        ),
        commands=provenance.commands(inputs.round_key, patches),
    )


def _trend(inputs: ReportInputs) -> pl.DataFrame:
    this_round = policy.trend_rows(inputs.round_key, inputs.number, inputs.evaluation, inputs.parent)
    return policy.whole_trend(inputs.trend, this_round)


def _training_trend(inputs: ReportInputs) -> pl.DataFrame:
    this_round = training_rows(inputs.round_key, inputs.metrics)
    earlier = inputs.training_trend if inputs.training_trend.width else this_round.clear()
    return pl.concat([earlier.filter(pl.col("run") != inputs.round_key), this_round])


def _facts(inputs: ReportInputs) -> tuple[tuple[str, str], ...]:
    operator = (("Skills followed by", inputs.operator),) if inputs.operator else ()
    return (
        ("Opened", f"{inputs.opened_at:%Y-%m-%d %H:%M} UTC"),
        ("Seed of the round", str(inputs.seed)),
        ("Who decides", _RULES.get(inputs.policy, inputs.policy)),
        ("Asked for", excerpt(inputs.request, 300) or "nothing beyond the skills"),
        *operator,
    )


def _cards(inputs: ReportInputs, patches: tuple[PatchView, ...], changes: policy.Changes) -> tuple[Card, ...]:
    calls = read_calls(inputs.steps, inputs.segments)
    return (
        policy.policy_card(changes),
        gate.patch_card(patches),
        sessions.session_card(inputs.steps, calls, inputs.session_findings.height),
        _training_card(inputs),
    )


def _training_card(inputs: ReportInputs) -> Card:
    steps = inputs.metrics["step"].n_unique() if inputs.metrics.width else 0
    notes = (plural(inputs.rollouts.height, "rollout"), plural(inputs.training_findings.height, "finding"))
    return Card("Training", plural(steps, "step"), notes)


def _session_tables(inputs: ReportInputs) -> tuple[Table, ...]:
    calls = read_calls(inputs.steps, inputs.segments)
    return (
        sessions.failures_by_signature(calls),
        sessions.calls_by_tool(calls),
        sessions.segments_by_skill(inputs.segments),
        sessions.coverage(inputs.coverage),
        sessions.quarantined(inputs.quarantine),
    )
