"""What optimises is not optimised: a patch to a skill of a group that is no target gets in nowhere."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.decisions import approve
from agent_evo_dagster.patches.document import patch_id, section_hash
from agent_evo_dagster.patches.propose import to_frame
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.bank import SkillBank
from tests.assets.graph import Graph, failures, fake_graph, only_round

SKILL, SECTION = "traj-loop", "between"


@pytest.fixture
def done(finished: Path, tmp_path: Path) -> Iterator[tuple[Graph, str]]:
    """A copy of a home with a finished round."""
    with fake_graph(shutil.copytree(finished, tmp_path / "home"), policy="manual", sessions=False) as graph:
        yield graph, only_round(graph)


def forged(bank: SkillBank, *, group: str) -> Patch:
    """A patch to a skill that no round may optimise, which names `group` as its own."""
    base = bank.section(SKILL, SECTION)
    body = "```yaml\n# agent-evo:settings\nbeta: {default: 0.2, min: 0.0, max: 0.2, why: 'x'}\n```\n"
    digest = section_hash(base)
    return Patch(
        id=patch_id(skill=SKILL, section=SECTION, action="append", base_hash=digest, body=body),
        group=group,
        skill=SKILL,
        target_section=SECTION,
        action="append",
        description="never stop",
        base_hash=digest,
        created=datetime(2026, 1, 1, tzinfo=UTC),
        body=body,
    )


@pytest.mark.parametrize("group", ["traj", "rllm"])
def test_a_forged_proposal_is_rejected_unmeasured_and_decided_so(done: tuple[Graph, str], group: str) -> None:
    graph, key = done
    bank = SkillBank.open(graph.settings.bank_path)
    patch = forged(bank, group=group)
    sections = {(SKILL, SECTION): bank.section(SKILL, SECTION)}
    graph.warehouse.write(["skill_patches"], key, to_frame([patch], sections))
    result = graph.run(key, select=["patch_evaluation", "patch_decisions"])
    assert result.success, failures(result)
    row = graph.frame("patch_evaluation", key).row(0, named=True)
    assert (row["verdict"], row["judge"], row["n"]) == ("reject", "none", 0)
    assert "traj-loop is no skill that rounds may optimise" in row["reason"]
    assert not (graph.settings.runs / key / f"probe-{patch.id}").exists()


def test_an_approval_on_record_does_not_bring_it_in(done: tuple[Graph, str]) -> None:
    graph, key = done
    bank = SkillBank.open(graph.settings.bank_path)
    patch = forged(bank, group="traj").model_copy(update={"source_round": key})
    sections = {(SKILL, SECTION): bank.section(SKILL, SECTION)}
    graph.warehouse.write(["skill_patches"], key, to_frame([patch], sections))
    approve(graph.ledger, patch, gate=None, by="Ada", reason="x", at=datetime.now(UTC), override=True)
    before = bank.content_hash()
    result = graph.run(key, select=["patch_evaluation", "patch_decisions", f"skills/traj/{SKILL}"])
    assert not result.success
    assert "group 'traj' of traj-loop is not an optimisation target" in failures(result)["compiled_skills"]
    assert bank.content_hash() == before


def test_no_round_proposes_to_a_skill_that_is_no_target(done: tuple[Graph, str]) -> None:
    graph, key = done
    bank = SkillBank.open(graph.settings.bank_path)
    assert {ref.group for ref in bank.targets()} == {"rllm"}
    assert len(bank.targets()) < len(bank.skills())
    assert graph.frame("skill_patches", key)["group"].unique().to_list() == ["rllm"]
    with pytest.raises(SkillBankError, match=r"change its base\.md by hand"):
        bank.require_target(SKILL, "a patch")
