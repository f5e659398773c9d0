"""Findings become few, small, typed patches, and the rest is given back with reasons."""

import json
from datetime import datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.change import new_values
from agent_evo_dagster.patches.decisions import reject
from agent_evo_dagster.patches.document import parse_patch
from agent_evo_dagster.patches.frames import patches_from_frame
from agent_evo_dagster.patches.propose import propose_patches, to_frame
from agent_evo_dagster.patches.tokens import changed_tokens
from agent_evo_dagster.patches.types import PATCH_SCHEMA
from tests.agent_evo_dagster.patches.material import GROUPS, OPENED, SECTIONS, hint


def test_a_finding_becomes_a_patch_that_changes_one_default(propose, finding, sections):
    (patch,) = propose(finding()).patches
    base = sections["rllm-config", "optimisation"]
    assert patch.body == base.replace("default: 2.0e-5", "default: 0.0001")
    assert (patch.group, patch.skill, patch.target_section) == ("rllm", "rllm-config", "optimisation")
    assert patch.action == "replace"
    assert patch.findings == ("f-learning_rate-raise",)
    assert patch.source_round == "round-0001"
    assert "2e-05 -> 0.0001" in patch.description


def test_rows_hold_the_diff_the_settings_and_the_document(propose, finding, sections):
    proposals = propose(finding())
    frame = to_frame(proposals.patches, sections)
    assert frame.schema == PATCH_SCHEMA
    row = frame.row(0, named=True)
    assert json.loads(row["settings"]) == {"learning_rate": [2e-5, 1e-4]}
    assert new_values(row["settings"]) == {"learning_rate": 1e-4}
    changed = [
        line for line in row["diff"].splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert [line[:14] for line in changed] == ["-learning_rate", "+learning_rate"]
    assert parse_patch(row["document"], origin="row") == proposals.patches[0]
    assert patches_from_frame(frame) == list(proposals.patches)


def test_no_proposal_still_gives_a_typed_frame(propose, sections):
    assert to_frame(propose().patches, sections).schema == PATCH_SCHEMA


def test_the_weightiest_finding_wins_the_budget(propose, finding):
    proposals = propose(
        finding("learning_rate", confidence=0.9),
        finding("temperature", severity="error", confidence=0.2),
        finding("max_steps", severity="info", confidence=1.0),
    )
    assert [patch.findings for patch in proposals.patches] == [("f-temperature-raise",)]
    assert [skip.finding_id for skip in proposals.skipped] == ["f-learning_rate-raise", "f-max_steps-raise"]
    assert all("budget of 1" in skip.reason for skip in proposals.skipped)


def test_findings_that_ask_for_the_same_edit_share_a_patch(propose, finding):
    proposals = propose(finding(finding_id="f-1"), finding(finding_id="f-2", confidence=0.9))
    assert [patch.findings for patch in proposals.patches] == [("f-2", "f-1")]
    assert proposals.skipped == ()


def test_one_edit_of_a_section_in_a_round(propose, finding):
    proposals = propose(
        finding("learning_rate"), finding("max_steps", confidence=0.1), finding("temperature"), budget=3
    )
    assert [patch.target_section for patch in proposals.patches] == ["optimisation", "rollouts"]
    assert "same section" in proposals.skipped[0].reason


@pytest.mark.parametrize(
    ("setting", "direction", "said"),
    [
        ("max_grad_norm", "raise", "10 already, the bound"),
        ("beta", "lower", "0.0 already, the bound"),
        ("nonsense", "raise", "no section of rllm-config has the setting"),
    ],
)
def test_an_edit_that_cannot_be_is_skipped_with_its_reason(propose, finding, setting, direction, said):
    proposals = propose(finding(setting, direction))
    assert proposals.patches == ()
    assert said in proposals.skipped[0].reason


def test_a_setting_in_two_sections_is_not_guessed(propose, finding, sections):
    sections["rllm-config", "again"] = sections["rllm-config", "optimisation"]
    proposals = propose(finding(), sections=sections)
    assert "again, optimisation of rllm-config" in proposals.skipped[0].reason


def test_a_skill_outside_the_bank_is_skipped(propose, finding):
    for skill in ("other", None):
        assert "none that rounds may optimise" in propose(finding(target_skill=skill)).skipped[0].reason


def test_findings_without_a_hint_propose_nothing(propose, finding):
    proposals = propose(finding(hint=None))
    assert (proposals.patches, proposals.skipped) == ((), ())


def test_a_rejected_edit_is_not_proposed_again(propose, finding, ledger):
    (patch,) = propose(finding()).patches
    later = patch.created + timedelta(hours=1)
    reject(ledger, patch, gate=None, by="Ada", reason="too bold", at=later)
    again = propose(finding(), round_key="round-0002", created=later + timedelta(hours=1))
    assert again.patches == ()
    assert "reject by Ada: too bold" in again.skipped[0].reason


def test_making_an_old_round_again_proposes_what_it_proposed(propose, finding, ledger, sections):
    first = propose(finding())
    reject(
        ledger,
        first.patches[0],
        gate=None,
        by="Ada",
        reason="no",
        at=first.patches[0].created + timedelta(hours=1),
    )
    assert propose(finding()) == first


def test_a_patch_in_the_bank_is_not_proposed_again(propose, finding):
    (patch,) = propose(finding()).patches
    assert "already in the bank" in propose(finding(), active=[patch.id]).skipped[0].reason


def test_a_broken_hint_names_its_finding(propose, finding):
    with pytest.raises(PatchError, match="finding f-bad"):
        propose(finding(finding_id="f-bad", hint="{"))


def test_a_time_without_a_zone_is_refused(propose, finding):
    with pytest.raises(PatchError, match="time zone"):
        propose(finding(), created=datetime(2026, 1, 1))


def test_a_long_reason_fits_the_description(propose, finding):
    text = json.dumps({"setting": "beta", "direction": "raise", "factor": 2, "why": "x\n" * 900})
    (patch,) = propose(finding(hint=text)).patches
    assert len(patch.description) <= 500
    assert "\n" not in patch.description


@given(st.permutations(range(4)))
def test_the_order_of_findings_does_not_matter(order):
    rows = [
        {
            "finding_id": f"f{n}",
            "severity": "warning",
            "confidence": 0.5,
            "count": 1,
            "target_skill": "rllm-config",
        }
        | {"hint": hint(setting, "raise", 2)}
        for n, setting in enumerate(["learning_rate", "temperature", "max_steps", "learning_rate"])
    ]

    class Empty:
        def verdicts(self, before):
            return {}

    def run(chosen):
        frame = pl.DataFrame(chosen, schema=FINDING_SCHEMA)
        return propose_patches(
            frame, SECTIONS, GROUPS, round_key="round-0001", created=OPENED, ledger=Empty(), budget=2
        )

    assert run([rows[index] for index in order]) == run(rows)


def test_the_patches_of_a_round_change_few_tokens_together(propose, finding, sections):
    rows = finding(), finding("temperature", "lower", 2.0)
    first, second = propose(*rows, budget=2).patches
    costs = [changed_tokens(sections[one.skill, one.target_section], one) for one in (first, second)]
    assert all(20 < cost < 100 for cost in costs)  # one line out, one line in; not the section
    assert propose(*rows, budget=2, tokens=sum(costs)).patches == (first, second)
    proposals = propose(*rows, budget=2, tokens=sum(costs) - 1)
    assert proposals.patches == (first,)
    assert f"it changes about {costs[1]} tokens; of the round's budget of" in proposals.skipped[0].reason
