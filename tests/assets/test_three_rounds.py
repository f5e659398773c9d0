"""Three rounds in a row close the loop, and an old round can be made again without turning anything back."""

from collections.abc import Iterator
from dataclasses import dataclass

import dagster as dg
import pytest

from agent_evo_dagster.operators.types import OperatorRun
from agent_evo_dagster.patches.records import AdoptionRecord, DecisionRecord
from agent_evo_dagster.rounds import reporting
from agent_evo_dagster.rounds.opening import RoundRequest
from agent_evo_dagster.rounds.state import RoundState, state_of
from agent_evo_dagster.rounds.types import RoundManifest
from tests.assets.fake_trainer import FakeTrainer
from tests.assets.graph import Graph, bytes_of, fake_graph

CAUTIOUS, RAISED = "2e-05", "0.0001"
OPERATED = OperatorRun(
    session_id="5e55",
    client="2.1.0 (Claude Code)",
    models=("m",),
    outcome="success",
    exit_code=0,
    turns=7,
    cost_usd=0.25,
    tokens=60,
    seconds=3.5,
)


@dataclass(frozen=True)
class Loop:
    """Three finished rounds."""

    graph: Graph
    rounds: list[RoundManifest]

    @property
    def keys(self) -> list[str]:
        return [manifest.key for manifest in self.rounds]


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loop]:
    with fake_graph(tmp_path_factory.mktemp("loop") / "home") as graph:
        asks = [None, None, RoundRequest(operated=OPERATED)]
        yield Loop(graph, [graph.round(ask) for ask in asks])


def test_what_an_operator_did_and_took_is_in_status_metadata_and_report(loop):
    key, instance = loop.keys[2], loop.graph.instance
    assert loop.graph.warehouse.read(["round_status"], key)["json"].str.contains('"session_id": "5e55"').all()
    (made,) = instance.fetch_materializations(
        dg.AssetRecordsFilter(dg.AssetKey("round_status"), asset_partitions=[key]), limit=1
    ).records
    shown = made.asset_materialization.metadata
    assert shown["operator_run"].value == OPERATED.model_dump(mode="json")
    assert (shown["operator"].value, shown["operator_cost_usd"].value) == ("claude_code", 0.25)
    reports = [loop.graph.frame("analysis_report", key)["markdown"][0] for key in loop.keys]
    assert ["session 5e55" in report for report in reports] == [False, False, True]
    assert "exit code 0, 7 turns, 0.2500 USD" in reports[2]


def test_a_slow_run_leads_to_an_accepted_patch(loop):
    first = loop.keys[0]
    findings = loop.graph.frame("training_findings", first)
    patch = loop.graph.frame("skill_patches", first).row(0, named=True)
    assert patch["findings"] == [findings["finding_id"][0]]
    assert patch["description"].startswith(f"learning_rate: {CAUTIOUS} -> {RAISED}")
    assert loop.graph.frame("patch_evaluation", first)["verdict"].to_list() == ["accept"]
    decision = loop.graph.frame("patch_decisions", first).row(0, named=True)
    assert (decision["decision"], decision["by"]) == ("approve", "policy:auto")


def test_an_approved_patch_is_compiled_into_the_skill(loop):
    assert "learning_rate: {default: 0.0001," in loop.graph.skill("rllm-config").read_text()
    patch = loop.graph.frame("skill_patches", loop.keys[0])["patch_id"][0]
    assert patch in loop.graph.bank.active()


def test_the_next_round_trains_with_the_new_value_from_the_new_checkpoint(loop):
    assert [loop.graph.setting(key, "learning_rate") for key in loop.keys] == [CAUTIOUS, RAISED, RAISED]
    runs = [loop.graph.frame("training_run", key).row(0, named=True) for key in loop.keys]
    assert [run["init_sha256"] for run in runs[1:]] == [run["checkpoint_sha256"] for run in runs[:-1]]
    assert [manifest.parent and manifest.parent.round for manifest in loop.rounds] == [None, *loop.keys[:2]]


def test_the_policy_gets_better_and_a_run_that_learns_well_is_left_alone(loop):
    status = [loop.graph.frame("policy_evaluation", key) for key in loop.keys]
    after = [frame.filter(frame["policy"] == "after")["reward"].mean() for frame in status]
    assert after == sorted(after)
    assert [loop.graph.frame("skill_patches", key).height for key in loop.keys] == [1, 0, 0]


def test_sessions_are_taken_once(loop):
    assert [len(manifest.slices) for manifest in loop.rounds] == [6, 0, 0]
    assert loop.graph.frame("hook_events", loop.keys[1]).is_empty()


def test_each_decision_and_adoption_is_on_record_once(loop):
    kinds = [type(record) for record in loop.graph.ledger.records()]
    assert kinds == [DecisionRecord, AdoptionRecord]


def test_the_report_of_a_later_round_shows_the_earlier_ones(loop):
    report = loop.graph.settings.reports / loop.keys[2] / "report.html"
    assert report.read_text().count("round-0001") >= 1


def test_the_trend_of_a_report_goes_back_a_bounded_number_of_rounds(loop, monkeypatch):
    monkeypatch.setattr(reporting, "MOST_EARLIER", 1)
    found = reporting.stored_inputs(loop.graph.settings, loop.keys[2])
    assert set(found.trend["round"]) == set(found.training_trend["run"]) == {loop.keys[1]}


def test_round_one_made_again_after_round_three_is_as_it_was(loop):
    graph = loop.graph
    kept = [
        graph.settings.warehouse,
        graph.settings.reports,
        graph.settings.bank_path,
        graph.settings.root / ".claude",
        graph.settings.root / "bank_snapshots",
        graph.settings.rounds,
    ]
    before = [bytes_of(folder) for folder in kept]
    assert graph.run(loop.keys[0]).success
    for folder, held in zip(kept, before, strict=True):
        assert bytes_of(folder) == held, folder.name


def test_the_checkpoint_that_a_later_round_began_with_is_still_there(loop):
    assert loop.graph.run(loop.keys[0], "train_policy").success
    assert loop.graph.run(loop.keys[1], "train_policy").success


def test_a_failed_round_does_not_block_the_next_and_is_not_gone_on_from(tmp_path):
    with fake_graph(tmp_path / "home") as graph:
        whole = graph.round()
        broken = graph.open()
        assert not graph.run(broken.key, trainer=FakeTrainer(fails="evaluate")).success
        assert (graph.settings.runs / broken.key / "train").is_dir()
        failed = state_of(graph.settings, broken.key)
        assert failed.told == (
            "failed at policy_evaluation: The training worker failed: evaluate was told to."
        )
        after = graph.open()
        assert (after.number, after.parent.round) == (3, whole.key)
        assert after.passed_over == {broken.key: "failed at policy_evaluation"}
        assert graph.run(broken.key).success  # and it can still be finished
        assert state_of(graph.settings, broken.key) == RoundState("complete", "complete")
        assert graph.open().parent.round == broken.key
