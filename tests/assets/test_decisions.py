"""What people decide, and what the compile asset does about it: nothing is compiled without an approval."""

import shutil
from collections.abc import Iterator

import dagster as dg
import polars as pl
import pytest
from typer.testing import CliRunner

from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.types import PATCH_DECISION_SCHEMA
from tests.assets.graph import Graph, bytes_of, failures, fake_graph, only_round

CONFIG = "rllm-config"
SKILLS = ["skill_versions", "skills/rllm/rllm-config"]


@pytest.fixture
def waiting(finished, tmp_path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Graph, str, str]]:
    """A copy of that home: the graph on it, the round, the patch."""
    home = shutil.copytree(finished, tmp_path / "home")
    monkeypatch.setenv("AGENT_EVO_HOME", str(home))
    with fake_graph(home, policy="manual") as graph:
        key = only_round(graph)
        yield graph, key, graph.frame("skill_patches", key)["patch_id"][0]


def decide(word: str, patch: str, *more: str) -> None:
    outcome = CliRunner().invoke(
        app, ["patches", word, patch, "--by", "Ada", "--reason", "looked at it", *more]
    )
    assert outcome.exit_code == 0, outcome.output


def test_under_the_manual_policy_an_accepted_patch_waits(waiting):
    graph, key, patch = waiting
    assert graph.frame("patch_evaluation", key)["verdict"].to_list() == ["accept"]
    assert graph.frame("patch_decisions", key)["decision"].to_list() == ["wait"]
    assert "learning_rate: {default: 2.0e-5," in graph.skill(CONFIG).read_text()
    assert patch not in graph.bank.active()
    assert '"status":"waiting"' in graph.frame("round_status", key)["json"][0].replace(" ", "")
    assert graph.frame("skill_packages", key).is_empty()


def test_an_approved_patch_is_compiled_by_the_adopt_job(waiting):
    graph, key, patch = waiting
    decide("approve", patch)
    assert "learning_rate: {default: 2.0e-5," in graph.skill(CONFIG).read_text()
    assert graph.run(key, "adopt").success
    assert "learning_rate: {default: 0.0001," in graph.skill(CONFIG).read_text()
    assert graph.frame("patch_decisions", key)["by"].to_list() == ["Ada"]
    assert '"status":"complete"' in graph.frame("round_status", key)["json"][0].replace(" ", "")
    assert graph.frame("skill_packages", key).height == 1
    assert graph.setting(graph.round().key, "learning_rate") == "0.0001"


def test_the_screen_of_a_round_tells_of_a_patch_that_was_taken_out_since(waiting):
    graph, key, patch = waiting
    decide("approve", patch)
    assert graph.run(key, "adopt").success
    show, report = ["rounds", "show", key], ["report", key]
    assert "taken out" not in CliRunner().invoke(app, show).output
    assert CliRunner().invoke(app, report).output.endswith(f"{patch}: in the skill\n")
    undo = ["skills", "rollback", patch, "--by", "Grace", "--reason", "too fast"]
    assert CliRunner().invoke(app, undo).exit_code == 0
    shown = CliRunner().invoke(app, show).output
    assert "taken out of the skill by Grace" in shown and "too fast" in shown
    told = CliRunner().invoke(app, report).output
    assert f"{patch}: taken out again; " in told and "taken out of the skill by Grace: too fast" in told
    made = CliRunner().invoke(app, [*report, "-o", "-", "--text"]).output
    assert "1 patch to rllm-config taken out again since." in made.splitlines()[0]
    every = CliRunner().invoke(app, ["report", "--all", "--text"]).output
    assert f"| [{patch}](<{key}/report.html#{patch}>) | {key} |" in every
    assert "taken out again; " in every and "| Grace |" in every


def test_a_round_that_moves_on_after_it_was_frozen_completes_beside_the_frozen_package(waiting):
    graph, key, patch = waiting
    decide("reject", patch)
    assert graph.run(key, "adopt").success
    frozen = graph.settings.bank_path / graph.frame("skill_packages", key)["package"][0]
    before = bytes_of(frozen)
    report = graph.frame("analysis_report", key)  # any change of what is frozen; here, of the report
    more = report.with_columns(markdown=pl.col("markdown") + "\nMore.\n")
    graph.warehouse.write(["analysis_report"], key, more)
    for _ in range(2):
        assert graph.run(key, "adopt", select=["skill_packages"]).success
    name = f"packages/task-packages/{key}.2"
    assert graph.frame("skill_packages", key)["package"].to_list() == [name]
    assert sorted(path.name for path in frozen.parent.iterdir()) == [key, f"{key}.2"]
    assert bytes_of(frozen) == before


def test_a_skill_tells_where_its_new_patch_comes_from(waiting):
    graph, key, patch = waiting
    decide("approve", patch)
    result = graph.run(key, "adopt")
    made = {e.asset_key: e.materialization for e in result.get_asset_materialization_events()}
    compiled = made[dg.AssetKey(["skills", "rllm", CONFIG])]
    (chain,) = compiled.metadata["comes_from"].data
    assert (chain["patch"], chain["round"]) == (patch, key)
    found = graph.frame("training_findings", key)["finding_id"]
    assert [item["finding"] for item in chain["from"]] and chain["from"][0]["finding"] in found
    assert chain["from"][0]["first"][0]["evidence"]
    assert "learning_rate" in compiled.metadata["diff"].md_str
    sha256 = graph.frame(f"skills/rllm/{CONFIG}", key)["sha256"][0]
    assert compiled.tags["dagster/data_version"] == sha256


def test_a_rejected_patch_is_never_compiled_nor_proposed_again(waiting):
    graph, key, patch = waiting
    decide("reject", patch)
    before = graph.skill(CONFIG).read_bytes()
    assert graph.run(key, "optimize_skills").success
    assert graph.skill(CONFIG).read_bytes() == before
    assert graph.frame("patch_decisions", key)["decision"].to_list() == ["reject"]
    assert graph.frame("skill_patches", key)["patch_id"].to_list() == [patch]  # an old round stays as it was
    assert patch not in graph.frame("skill_patches", graph.round().key)["patch_id"].to_list()


def test_a_forged_decision_is_refused_and_nothing_is_written(waiting):
    graph, key, patch = waiting
    forged = graph.frame("patch_decisions", key).with_columns(
        decision=pl.lit("approve"), by=pl.lit("Ada"), record_hash=pl.lit("0" * 64)
    )
    graph.warehouse.write(["patch_decisions"], key, forged.select(PATCH_DECISION_SCHEMA.names()))
    before = bytes_of(graph.settings.bank_path), bytes_of(graph.settings.root / ".claude")
    result = graph.run(key, select=SKILLS)
    assert not result.success
    message = failures(result)["compiled_skills"]
    assert DecisionError.__name__ in message
    assert f"{patch} for rllm-config#optimisation is not approved" in message
    assert f"agent-evo patches approve {patch}" in message
    assert (bytes_of(graph.settings.bank_path), bytes_of(graph.settings.root / ".claude")) == before


def test_a_patch_that_was_changed_after_its_approval_is_refused(waiting):
    graph, key, patch = waiting
    decide("approve", patch)
    assert graph.run(key, select=["patch_decisions"]).success
    frame = graph.frame("skill_patches", key)
    text = frame["document"][0].replace("default: 0.0001", "default: 0.002")
    graph.warehouse.write(["skill_patches"], key, frame.with_columns(document=pl.lit(text)))
    result = graph.run(key, select=SKILLS)
    assert not result.success
    assert "edited since" in failures(result)["compiled_skills"]
    assert "learning_rate: {default: 2.0e-5," in graph.skill(CONFIG).read_text()


def test_a_failed_gate_keeps_the_patch_out_even_if_the_skills_are_compiled_alone(waiting):
    graph, key, patch = waiting
    decide("reject", patch)
    assert graph.run(key, select=["patch_decisions"]).success
    assert graph.run(key, select=SKILLS).success
    assert "learning_rate: {default: 2.0e-5," in graph.skill(CONFIG).read_text()


def test_a_patch_against_a_section_that_changed_since_is_refused(waiting):
    graph, key, patch = waiting
    base = graph.settings.bank_path / "rllm/rllm-config/base.md"
    base.write_text(base.read_text().replace("max_steps: {default: 10", "max_steps: {default: 12"))
    decide("approve", patch)
    result = graph.run(key, "adopt")
    assert not result.success
    message = failures(result)["compiled_skills"]
    assert "ChangedSectionError" in message
    assert patch in message
    assert patch not in graph.bank.active()


def test_a_compiled_skill_that_was_edited_by_hand_is_not_overwritten(waiting):
    graph, key, patch = waiting
    decide("approve", patch)
    edited = graph.skill(CONFIG)
    edited.write_text(edited.read_text() + "\nMine.\n")
    result = graph.run(key, "adopt")
    assert "was edited by hand" in failures(result)["compiled_skills"]
    assert edited.read_text().endswith("Mine.\n")


def test_a_record_of_decisions_that_was_deleted_or_cut_is_missed_by_the_round_and_the_doctor(waiting):
    graph, key, patch = waiting
    decide("approve", patch)
    assert graph.run(key, "adopt").success
    record = graph.ledger.path
    kept = record.read_bytes()
    for damage in (record.unlink, lambda: record.write_bytes(b"")):
        damage()
        result = graph.run(key, select=SKILLS)
        assert not result.success
        message = failures(result)["compiled_skills"]
        assert patch in message and "decisions.jsonl was deleted or cut. Restore it" in message
        outcome = CliRunner().invoke(app, ["doctor"])
        assert outcome.exit_code == 1
        assert f"MEND  decisions: 1 patches of rounds are in {graph.bank.path}" in outcome.output
    record.write_bytes(kept)
    assert graph.run(key, select=SKILLS).success
    assert "MEND  decisions" not in CliRunner().invoke(app, ["doctor"]).output
