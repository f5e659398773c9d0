"""A round that got worse beyond the interval takes out what its skills were changed by, on record, once."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg
import pytest

from agent_evo_dagster.patches.decisions import approve
from agent_evo_dagster.patches.records import RollbackRecord
from agent_evo_dagster.patches.types import GateVerdict
from agent_evo_dagster.settings import RollbackScope
from agent_evo_dagster.skills.rollback import Rollback, roll_back_skill
from tests.assets.fake_trainer import FakeTrainer
from tests.assets.graph import Graph, fake_graph, only_round

CONFIG = "rllm-config"
RAISED, CAUTIOUS = "learning_rate: {default: 0.0001,", "learning_rate: {default: 2.0e-5,"


@pytest.fixture(scope="module")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """A round whose patch is adopted, and one that trains with it and gets worse."""
    with fake_graph(tmp_path_factory.mktemp("worse") / "home") as graph:
        graph.round()
        graph.round(trainer=FakeTrainer(harmful=True))
        yield graph


def patch_of(graph: Graph) -> str:
    return graph.frame("skill_patches", "round-0001")["patch_id"][0]


def rollbacks(graph: Graph) -> list[RollbackRecord]:
    return [record for record in graph.ledger.records() if isinstance(record, RollbackRecord)]


def test_the_patch_goes_out_with_the_figures_on_record(regressed):
    patch = patch_of(regressed)
    row = regressed.frame("skill_rollbacks", "round-0002").row(0, named=True)
    assert (row["patch_id"], row["result"], row["approved_by"]) == (patch, "rolled_back", "policy:auto")
    (record,) = rollbacks(regressed)
    assert (record.by, record.round, record.removed) == ("policy:regression", "round-0002", (patch,))
    assert "round-0002 got worse with it: held-out accuracy, sampled, 0.400 -> 0.100" in record.reason
    assert "difference -0.300 [" in record.reason
    assert patch not in regressed.bank.active()
    assert CAUTIOUS in regressed.skill(CONFIG).read_text()


def test_the_first_round_and_one_that_got_better_take_nothing_out(regressed):
    assert regressed.frame("skill_rollbacks", "round-0001").is_empty()


def test_the_report_says_what_was_taken_out_and_that_of_the_round_before_does_once_made_again(regressed):
    told = (regressed.settings.reports / "round-0002" / "report.md").read_text()
    assert told.splitlines()[0].endswith("1 earlier patch taken out of rllm-config.")
    before = regressed.settings.reports / "round-0001" / "report.md"
    assert "taken out" not in before.read_text().splitlines()[0]
    assert regressed.run("round-0001", select=["analysis_report"]).success
    assert "1 patch to rllm-config taken out again since." in before.read_text().splitlines()[0]
    assert "by the rule regression: round-0002 got worse with it" in before.read_text()
    assert "agent-evo skills versions rllm-config" in before.read_text()


def test_made_again_the_round_takes_nothing_out_a_second_time(regressed):
    before = regressed.frame("skill_rollbacks", "round-0002")
    records = regressed.ledger.records()
    result = regressed.run("round-0002", trainer=FakeTrainer(harmful=True))
    assert result.success
    assert regressed.frame("skill_rollbacks", "round-0002").equals(before)
    assert regressed.ledger.records() == records
    (check,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "held"]
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "0.400 -> 0.100" in check.description and patch_of(regressed) in check.description


def test_what_a_person_put_back_stays(regressed):
    asked = Rollback("Ada", "it was the data", datetime.now(UTC))
    patch = patch_of(regressed)
    version = regressed.ledger.adoption(patch)
    assert version is None
    roll_back_skill(regressed.bank, CONFIG, "2", asked)
    assert regressed.run("round-0002", select=["skill_rollbacks"]).success
    assert patch in regressed.bank.active()
    assert "it is back since" in regressed.frame("skill_rollbacks", "round-0002")["reason"][0]
    roll_back_skill(regressed.bank, CONFIG, "1", asked)  # as it was


def test_the_next_round_trains_without_it_and_does_not_propose_it_again(regressed):
    manifest = regressed.round()
    assert regressed.setting(manifest.key, "learning_rate") == "2e-05"
    assert patch_of(regressed) not in regressed.frame("skill_patches", manifest.key)["patch_id"].to_list()


@pytest.fixture
def by_ada(finished, tmp_path) -> Iterator[Graph]:
    """A home whose patch Ada approved; it is in the skill."""
    home = shutil.copytree(finished, tmp_path / "home")
    with fake_graph(home, policy="manual", sessions=False) as graph:
        key = only_round(graph)
        (held,) = [one.patch for one in graph.reviews() if one.patch.id == patch_of(graph)]
        asked = {"gate": GateVerdict.ACCEPT, "by": "Ada", "reason": "ok", "at": datetime.now(UTC)}
        approve(graph.ledger, held, **asked)
        assert graph.run(key, "adopt").success
        yield graph


def harmed(graph: Graph, scope: RollbackScope) -> Graph:
    """The same home where a regression takes out `scope`, and training harms."""
    settings = graph.settings.model_copy(update={"rollback": scope})
    return Graph(settings, graph.instance, FakeTrainer(harmful=True))


@pytest.mark.parametrize(("scope", "result"), [("auto", "kept"), ("off", "kept"), ("all", "rolled_back")])
def test_what_a_person_approved_goes_out_only_where_all_is_asked_for(by_ada, scope, result):
    graph = harmed(by_ada, scope)
    assert graph.round().number == 2
    row = graph.frame("skill_rollbacks", "round-0002").row(0, named=True)
    assert (row["result"], row["approved_by"]) == (result, "Ada")
    if result == "kept":
        assert f"agent-evo skills rollback {patch_of(graph)} --by NAME" in row["reason"]
    assert (RAISED in graph.skill(CONFIG).read_text()) == (result == "kept")
    assert len(rollbacks(graph)) == (result == "rolled_back")


def test_an_edit_by_hand_stands_in_the_way_and_is_told(by_ada):
    graph = harmed(by_ada, "all")
    graph.open()
    edited = graph.skill(CONFIG)
    edited.write_text(edited.read_text() + "\nMine.\n")
    assert graph.run("round-0002", "train_policy").success
    assert graph.run("round-0002", select=["skill_rollbacks"]).success
    row = graph.frame("skill_rollbacks", "round-0002").row(0, named=True)
    assert row["result"] == "failed" and "edited" in row["reason"]
    assert patch_of(graph) in graph.bank.active() and rollbacks(graph) == []
