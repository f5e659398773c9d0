"""The stream of edits that both arms of the gate's ablation get."""

from datetime import UTC, datetime

import pytest

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.change import settings_change
from agent_evo_dagster.skills.bank import create_bank
from benchmarks.gate_ablation_rounds import TEMPLATE
from benchmarks.gate_ablation_stream import EDITS, SKILL, Edit, patch_of, stream

CREATED = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    return create_bank(TEMPLATE, tmp_path_factory.mktemp("bank") / "skill_bank")


def test_every_seed_has_all_edits_in_an_order_of_its_own():
    orders = [stream(seed) for seed in range(5)]
    assert all(set(order) == set(EDITS) for order in orders)
    assert len(set(orders)) > 1
    assert stream(3) == stream(3)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.words)
def test_every_edit_is_a_patch_of_one_setting_within_its_range(bank, edit):
    patch = patch_of(edit, bank, round_key="round-0001", created=CREATED)
    change = settings_change(bank.sections(SKILL)[patch.target_section], patch)
    assert change is not None
    assert list(change) == [edit.setting]
    assert change[edit.setting][1] == edit.value


def test_a_setting_that_the_skill_lacks_is_refused(bank):
    with pytest.raises(SkillBankError, match="no_such_setting"):
        patch_of(Edit("useless", "no_such_setting", 1, "none"), bank, round_key="r", created=CREATED)
