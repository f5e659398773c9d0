"""The life of skills in packages: what is frozen, what it needs, and what is refused."""

import json
from pathlib import Path

import pytest

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.types import GateVerdict
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.frozen import verify_package
from agent_evo_dagster.skills.packages.ids import parse_id
from agent_evo_dagster.skills.packages.registry import read_registry
from agent_evo_dagster.skills.packages.release import Asked, plan, release
from agent_evo_dagster.skills.packages.skills import about_skills, bank_in
from agent_evo_dagster.skills.rollback import Rollback, roll_back_patch
from agent_evo_dagster.skills.squash import squash
from tests.agent_evo_dagster.skills.banks import bank_at, patch, put
from tests.agent_evo_dagster.skills.packages.lives import AT, MORE, adopted, asked, decided, freeze, proved

TRIED = "experimental/maths/v1"


@pytest.fixture
def bank(tmp_path: Path) -> SkillBank:
    return bank_at(tmp_path, "alpha", "beta")


def everything(bank: SkillBank) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(bank.project.rglob("*")) if path.is_file()}


def test_a_stable_package_holds_the_bank_and_its_skills_and_becomes_current(bank: SkillBank) -> None:
    done = freeze(adopted(bank), "stable/v1")
    assert verify_package(done.path) == []
    assert done.path == bank.path / "packages/stable/v1"
    assert (done.path / "bank/rllm/alpha/base.md").read_bytes() == (
        bank.path / "rllm/alpha/base.md"
    ).read_bytes()
    assert "More." in (done.path / "skills/rllm/alpha/SKILL.md").read_text()
    about = about_skills(done.path)
    assert (about.patches, about.bank_hash) == ((MORE.id,), bank.content_hash())
    assert bank_in(done.path).content_hash() == bank.content_hash()
    assert read_registry(bank.path).current == {"stable": "stable/v1"}
    second = freeze(bank, "stable/v2")
    assert (second.parent, second.before) == ("stable/v1", "stable/v1")
    assert read_registry(bank.path).current == {"stable": "stable/v2"}


def test_an_accepted_change_goes_from_stable_over_experimental_to_vertical(bank: SkillBank) -> None:
    bank = proved(bank)
    registry = read_registry(bank.path)
    assert list(registry.packages) == [TRIED, "stable/v1", "vertical/maths/v1"]
    assert registry.current == {"stable": "stable/v1", "vertical/maths": "vertical/maths/v1"}
    parents = {name: entry.parent for name, entry in registry.packages.items()}
    assert parents == {TRIED: "stable/v1", "stable/v1": None, "vertical/maths/v1": TRIED}
    tried, proof = (bank.path / "packages" / name for name in (TRIED, "vertical/maths/v1"))
    for path in ("bank/rllm/alpha/manifest.yaml", "skills/rllm/alpha/SKILL.md"):
        assert (tried / path).read_bytes() == (proof / path).read_bytes()
    (row,) = json.loads((proof / "evidence.json").read_text())
    assert (row["patch"], row["gate"], row["decision"], row["missing"]) == (MORE.id, "accept", "approve", "")


@pytest.mark.parametrize(
    ("gate", "missing"),
    [
        (None, "the gate has not judged it"),
        (GateVerdict.NEEDS_PERSON, "the gate says needs_person, not accept"),
        (GateVerdict.REJECT, "the gate says reject, not accept"),
        (GateVerdict.REJECT_UNVERIFIED, "the gate says reject_unverified, not accept"),
    ],
)
def test_a_patch_that_the_gate_did_not_accept_is_not_promoted(
    bank: SkillBank, gate: GateVerdict | None, missing: str
) -> None:
    freeze(bank, "stable/v1")
    bank = adopted(bank, gate=gate)
    tried = freeze(bank, TRIED)
    assert [line for line in tried.review.missing if missing in line]
    before = everything(bank)
    with pytest.raises(SkillBankError, match=f"{MORE.id} \\(alpha\\): .*{missing}"):
        freeze(bank, "vertical/maths/v1", parent=TRIED)
    assert everything(bank) == before


def test_a_patch_without_a_decision_is_not_promoted_until_it_has_one(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    bank = put(bank, MORE)
    freeze(bank, TRIED)
    with pytest.raises(SkillBankError, match="no decision on it is on record"):
        freeze(bank, "vertical/maths/v1", parent=TRIED)
    decided(bank)
    assert freeze(bank, "vertical/maths/v1", parent=TRIED).current == "vertical/maths"


def test_a_rejected_patch_or_a_decision_on_other_bytes_is_not_evidence(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    bank = put(bank, MORE)
    decided(bank, decision="reject", gate=GateVerdict.REJECT)
    freeze(bank, TRIED)
    with pytest.raises(SkillBankError, match="policy:auto rejected it"):
        freeze(bank, "vertical/maths/v1", parent=TRIED)
    other = patch("First.\n", "Else.\n", conflicts_with=["p-0000000000000000"])
    decided(bank, other)
    bank = put(bank, other.model_copy(update={"conflicts_with": ()}))
    freeze(bank, "experimental/maths/v2")
    with pytest.raises(SkillBankError, match="was about other bytes"):
        freeze(bank, "vertical/maths/v2", parent="experimental/maths/v2")


def test_what_was_taken_out_again_is_not_promoted(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    bank = adopted(bank)
    freeze(bank, TRIED)
    roll_back_patch(bank, MORE.id, Rollback("Bob", "it made things worse", AT))
    with pytest.raises(SkillBankError, match="Bob took it out again: it made things worse"):
        freeze(bank, "vertical/maths/v1", parent=TRIED)


def test_an_edited_base_is_a_change_that_no_gate_has_seen(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    base = bank.path / "rllm/alpha/base.md"
    base.write_text(base.read_text().replace("Free text", "Loose text"))
    tried = freeze(adopted(bank), TRIED)
    assert tried.review.changed == ("alpha",)
    with pytest.raises(SkillBankError, match="alpha: it differs from the parent by more than its patches"):
        freeze(bank, "vertical/maths/v1", parent=TRIED)


def test_a_patch_of_the_parent_that_was_left_out_is_a_change_as_well(bank: SkillBank) -> None:
    bank = adopted(bank)
    freeze(bank, "stable/v1")
    (bank.path / "rllm/alpha/manifest.yaml").write_text("active: []\n")
    freeze(bank, TRIED)
    with pytest.raises(SkillBankError, match=f"alpha: {MORE.id} of the parent was left out"):
        freeze(bank, "vertical/maths/v1", parent=TRIED)


def test_squashed_patches_keep_their_evidence(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    bank = adopted(bank)
    squash(bank, ["alpha"])
    bank = SkillBank.open(bank.path)
    freeze(bank, TRIED)
    assert freeze(bank, "vertical/maths/v1", parent=TRIED).review.missing == ()


def test_a_profile_is_tried_and_promoted_as_it_was_tried(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    bank = put(bank, MORE)
    decided(bank)
    manifest = bank.path / "rllm/alpha/manifest.yaml"
    manifest.write_text(f"active: []\nprofiles:\n  maths: {{active: [{MORE.id}]}}\n")
    bank = SkillBank.open(bank.path)
    tried = freeze(bank, TRIED, profile="maths")
    assert "More." in (tried.path / "skills/rllm/alpha/SKILL.md").read_text()
    done = freeze(bank, "vertical/maths/v1", parent=TRIED)
    assert (about_skills(done.path).profile, done.review.changed) == ("maths", ("alpha",))


def test_a_patch_of_a_round_without_an_approval_is_not_frozen_as_stable(bank: SkillBank) -> None:
    proposed = MORE.model_copy(update={"source_round": "round-0001"})
    bank = put(bank, proposed)
    with pytest.raises(SkillBankError, match="round-0001 proposed it, and no approval is on record"):
        freeze(bank, "stable/v1")
    decided(bank, proposed)
    assert freeze(bank, "stable/v1").review.missing == ()


def test_a_name_that_exists_is_refused_even_with_the_same_content(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    before = everything(bank)
    with pytest.raises(SkillBankError, match="package stable/v1 exists; a frozen package never changes"):
        freeze(bank, "stable/v1")
    assert everything(bank) == before


def test_a_package_whose_registration_was_cut_short_is_registered_by_freezing_it_again(
    bank: SkillBank,
) -> None:
    path = freeze(bank, "stable/v1").path
    (bank.path / "registry.json").unlink()
    (bank.path / "decisions.jsonl").unlink()
    inode = path.stat().st_ino
    assert freeze(bank, "stable/v1").path.stat().st_ino == inode
    (bank.path / "registry.json").unlink()
    base = bank.path / "rllm/alpha/base.md"
    base.write_text(base.read_text().replace("Free", "Loose"))
    with pytest.raises(SkillBankError, match=r"exists at .* with other content"):
        freeze(bank, "stable/v1")


def test_a_dry_run_writes_nothing_and_refuses_what_freezing_refuses(bank: SkillBank) -> None:
    before = everything(bank)
    told = freeze(bank, "stable/v1", dry_run=True)
    assert (told.current, told.before) == ("stable", None)
    assert everything(bank) == before
    bank = proved(bank)
    with pytest.raises(SkillBankError, match="exists"):
        freeze(bank, "stable/v1", dry_run=True)
    with pytest.raises(SkillBankError, match="of another domain"):
        freeze(bank, "vertical/law/v1", parent=TRIED, dry_run=True)


def test_each_kind_has_its_parent(bank: SkillBank) -> None:
    def refused(name: str, match: str, **more: str) -> None:
        with pytest.raises(SkillBankError, match=match):
            freeze(bank, name, **more)  # type: ignore[arg-type]

    refused(TRIED, "none is current. Freeze one first")
    bank = proved(bank)
    refused("stable/v2", "leave out --from-package", parent="stable/v1")
    refused("stable/v2", "without a profile", profile="maths")
    refused(
        "experimental/law/v1",
        "is of the kind experimental; this one comes from one of the kind stable",
        parent=TRIED,
    )
    refused("vertical/maths/v2", "name that one")
    refused(
        "vertical/maths/v2",
        "is of the kind stable; this one comes from one of the kind exp",
        parent="stable/v1",
    )
    refused("vertical/maths/v2", "no package 'experimental/maths/v9'", parent="experimental/maths/v9")
    refused("task-packages/x", "it is made from rounds")
    refused("experimental/law/v1", "no profile|has a profile", profile="nope")


def test_a_damaged_parent_is_not_built_upon(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    bank = adopted(bank)
    path = freeze(bank, TRIED).path
    (path / "skills/rllm/beta/SKILL.md").write_text("x")
    with pytest.raises(SkillBankError, match="was damaged"):
        freeze(bank, "vertical/maths/v1", parent=TRIED)
    (path / "package.json").write_text((path / "package.json").read_text() + " ")
    with pytest.raises(SkillBankError, match="is not the registered one"):
        freeze(bank, "vertical/maths/v1", parent=TRIED)


def test_who_and_why_must_be_given(bank: SkillBank) -> None:
    for by, reason in (("", "x"), ("Ada", " "), ("policy:auto", "x")):
        with pytest.raises(Exception, match="needs"):
            release_as(bank, by, reason)
    assert not (bank.path / "packages").exists()


def release_as(bank: SkillBank, by: str, reason: str) -> None:
    release(bank, Asked(parse_id("stable/v1"), by, reason, AT))


def test_a_plan_shows_what_would_be_needed(bank: SkillBank) -> None:
    freeze(bank, "stable/v1")
    bank = adopted(bank, gate=None)
    freeze(bank, TRIED)
    review = plan(bank, asked("vertical/maths/v1", parent=TRIED)).review
    assert [item.patch for item in review.patches] == [MORE.id]
    assert review.changed == ("alpha",)
    assert len(review.missing) == 1
