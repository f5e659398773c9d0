"""The ways to decide, each through the graph: the launchpad, files of the bank, two people, taking back."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from typer.testing import CliRunner

from agent_evo_dagster.cli.main import app
from agent_evo_dagster.definitions import TEMPLATE
from automation.sensors import build_decision_sensor
from tests.agent_evo_dagster.rounds.deciders import WAYS, Turn, check_one_decision, deciders, fresh
from tests.assets.graph import Graph, failures, fake_graph, only_round

CONFIG = "rllm-config"
RAISED = "learning_rate: {default: 0.0001,"


@pytest.fixture
def waiting(finished, tmp_path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Graph, str, str]]:
    """A copy of a home whose one patch waits: the graph on it, the round, the patch."""
    home = shutil.copytree(finished, tmp_path / "home")
    monkeypatch.setenv("AGENT_EVO_HOME", str(home))
    with fake_graph(home, policy="manual") as graph:
        key = only_round(graph)
        yield graph, key, graph.frame("skill_patches", key)["patch_id"][0]


def launchpad(**config: object) -> dict[str, object]:
    return {"ops": {"patch_decisions": {"config": {"by": "Ada", "reason": "looked at it", **config}}}}


def cli(word: str, patch: str, name: str = "Ada") -> None:
    outcome = CliRunner().invoke(app, ["patches", word, patch, "--by", name, "--reason", "looked at it"])
    assert outcome.exit_code == 0, outcome.output


def materialised(result: dg.ExecuteInProcessResult, asset: str) -> dg.AssetMaterialization:
    made = {event.asset_key: event.materialization for event in result.get_asset_materialization_events()}
    return made[dg.AssetKey(asset)]


def test_a_patch_that_waits_is_seen_with_diff_evidence_and_commands(waiting):
    graph, key, patch = waiting
    result = graph.run(key, select=["patch_decisions"])
    (check,) = result.get_asset_check_evaluations()
    assert (check.check_name, check.passed, check.severity) == ("decided", False, dg.AssetCheckSeverity.WARN)
    assert f"{patch} waits: a person decides" in check.description
    shown = materialised(result, "patch_decisions").metadata
    assert f"agent-evo patches approve {patch} --by NAME --reason TEXT" in shown["to_decide"].md_str
    assert f"agent-evo patches reject {patch}" in shown["to_decide"].md_str
    assert "learning_rate" in shown["diff"].md_str
    assert shown["evidence"].records[0].data["verdict"] == "accept"
    assert list(shown["findings"].data) == [patch]
    config = shown["launchpad"].data["ops"]["patch_decisions"]["config"]
    assert config == {"approve": [patch], "by": "NAME", "reason": "TEXT"}


def test_a_patch_is_approved_from_the_launchpad(waiting):
    graph, key, patch = waiting
    for _ in range(2):  # launched again it changes nothing
        assert graph.run(key, "adopt", config=launchpad(approve=[patch])).success
    assert RAISED in graph.skill(CONFIG).read_text()
    assert [type(record).__name__ for record in graph.ledger.records()] == [
        "DecisionRecord",
        "AdoptionRecord",
    ]
    assert graph.frame("patch_decisions", key)["by"].to_list() == ["Ada"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"approve": ["p-1111111111111111"]}, "No patch begins with"),
        ({}, "none is"),
        ({"reject": ["PATCH"], "by": "policy:auto"}, "is the name of a rule"),
        ({"reject": ["PATCH"], "reason": " "}, "needs a reason"),
    ],
)
def test_a_launch_that_is_no_decision_records_nothing(waiting, config, said):
    graph, key, patch = waiting
    filled = {name: [patch] if value == ["PATCH"] else value for name, value in config.items()}
    result = graph.run(key, "adopt", config=launchpad(**filled))
    assert said in failures(result)["patch_decisions"]
    assert graph.ledger.records() == ()


def test_a_file_in_the_bank_is_carried_out_by_the_sensor(waiting):
    graph, key, patch = waiting
    folder = graph.settings.bank_path / "approvals"
    folder.mkdir()
    before = graph.bank.content_hash()
    (folder / "ada.yaml").write_text(f"by: Ada\nreason: reviewed in the repository\napprove: [{patch}]\n")
    assert graph.bank.content_hash() == before  # who decides is no part of what is compiled
    sensor = build_decision_sensor(graph.settings, TEMPLATE)
    context = dg.build_sensor_context(instance=graph.instance)
    (request,) = sensor(context).run_requests
    assert (request.partition_key, request.run_key) == (key, graph.ledger.decision(patch).hash)
    assert graph.run(key, "adopt").success
    assert RAISED in graph.skill(CONFIG).read_text()
    assert isinstance(sensor(context), dg.SkipReason)


def test_one_of_two_people_compiles_nothing(waiting, monkeypatch):
    graph, key, patch = waiting
    cli("approve", patch)  # decided while one person was enough
    monkeypatch.setenv("AGENT_EVO_POLICY", "two_person")
    with fake_graph(graph.settings.root, policy="two_person", sessions=False) as strict:
        only_round(strict)
        assert strict.run(key, "adopt").success
        assert strict.frame("patch_decisions", key)["decision"].to_list() == ["wait"]
        assert RAISED not in strict.skill(CONFIG).read_text()
        cli("approve", patch, "Bob")
        assert strict.run(key, "adopt").success
        assert RAISED in strict.skill(CONFIG).read_text()


def test_an_approved_patch_whose_section_changed_is_made_anew_judged_by_the_next_round_and_decided_again(
    waiting,
):
    graph, key, patch = waiting
    base = graph.settings.bank_path / "rllm/rllm-config/base.md"
    base.write_text(base.read_text().replace("max_steps: {default: 10", "max_steps: {default: 12"))
    cli("approve", patch)
    assert "ChangedSectionError" in failures(graph.run(key, "adopt"))["compiled_skills"]
    outcome = CliRunner().invoke(app, ["patches", "rebase", patch, "--by", "Bob"])
    assert f"is made of {patch}. It is not judged yet." in outcome.output
    assert graph.run(key, "adopt").success  # the old one is withdrawn, and in nobody's way
    assert graph.frame("patch_decisions", key)["decision"].to_list() == ["withdraw"]
    assert '"status":"complete"' in graph.frame("round_status", key)["json"][0].replace(" ", "")
    made, later = graph.ledger.made()[0].patch_id, graph.round().key
    assert graph.frame("skill_patches", later)["patch_id"].to_list() == [made]
    assert graph.frame("patch_evaluation", later)["judge"].to_list() == ["probe"]
    assert graph.frame("patch_decisions", later)["decision"].to_list() == ["wait"]
    cli("approve", made, "Bob")
    assert RAISED not in graph.skill(CONFIG).read_text()
    assert graph.run(later, "adopt").success
    text = graph.skill(CONFIG).read_text()
    assert RAISED in text and "max_steps: {default: 12" in text


def test_what_is_in_the_skill_is_not_withdrawn(waiting):
    graph, key, patch = waiting
    cli("approve", patch)
    assert graph.run(key, "adopt").success
    outcome = CliRunner().invoke(app, ["patches", "withdraw", patch, "--by", "Bob", "--reason", "no"])
    assert outcome.exit_code != 0
    assert patch in graph.bank.active() and graph.ledger.decision(patch).decision == "approve"


def _serve(home: str, turns: Any, answers: Any, ready: Any) -> None:
    """Decide in the asset itself, or at the command line."""
    os.environ["AGENT_EVO_HOME"] = home
    with fake_graph(Path(home), policy="manual", sessions=False) as graph:
        key = only_round(graph)
        while (turn := turns.get(timeout=600)) is not None:
            ready.wait(60)
            if turn.way == "asset":
                config = launchpad(**{turn.word: [turn.patch], "by": turn.name})
                result = graph.run(key, select=["patch_decisions"], config=config)
                told = failures(result).get("patch_decisions", "")
            else:
                told = WAYS[turn.way](turn)
            answers.put((turn, told))


@pytest.mark.slow
def test_a_launch_and_another_way_at_once_leave_one_decision(waiting):
    graph, _, patch = waiting
    home, winners = graph.settings.root, set()
    with deciders(home, serve=_serve) as people:
        for number in range(24):
            fresh(home)
            words = ("approve", "reject") if number % 2 else ("reject", "approve")
            other = ("command", "file", "asset")[number % 3]
            turns = [Turn("asset", words[0], patch, "Ada"), Turn(other, words[1], patch, "Bob")]
            check_one_decision(home, people(*turns))
            winners.add(graph.ledger.records()[0].by)
    assert winners == {"Ada", "Bob"}
