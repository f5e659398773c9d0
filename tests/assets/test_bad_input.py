"""Bad input in a round: each is told with what to do, or counted; nothing is dropped or guessed."""

import math
import shutil
import sys
from collections.abc import Iterator

import dagster as dg
import pytest

from agent_evo_dagster.rounds.opening import RoundRequest
from agent_evo_dagster.training.metrics import read_metrics
from tests.assets.fake_trainer import FakeTrainer
from tests.assets.graph import Graph, bytes_of, failures, fake_graph, only_round

MAKE = "dagster asset materialize -m agent_evo_dagster.definitions"


@pytest.fixture
def done(finished, tmp_path) -> Iterator[tuple[Graph, str]]:
    """A copy of a home with a finished round."""
    with fake_graph(shutil.copytree(finished, tmp_path / "home"), policy="manual", sessions=False) as graph:
        yield graph, only_round(graph)


def metadata_of(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, dg.MetadataValue]:
    found = [e for e in result.get_asset_materialization_events() if e.asset_key == dg.AssetKey(asset)]
    return dict(found[0].materialization.metadata)


def test_broken_lines_are_set_aside_and_counted(tmp_path):
    with fake_graph(tmp_path / "home") as graph:
        target = graph.settings.spool / "hooks/first-round.jsonl"
        target = target if target.exists() else next(graph.settings.spool.rglob("*.jsonl"))
        target.write_bytes(b'null\n[1]\n{"cut": \n' + b"\xff\xfe\n" + target.read_bytes())
        key = graph.open().key
        result = graph.run(key, select=["hook_events", "quarantined_lines"])
        assert result.success
        broken = graph.frame("quarantined_lines", key)
        assert broken.height == 4
        assert metadata_of(result, "hook_events")["quarantined"].value == 4
        assert broken["source_offset"].to_list() == [0, 5, 9, 18]


def test_a_round_without_sessions_runs_to_its_end(tmp_path):
    with fake_graph(tmp_path / "home", sessions=False) as graph:
        key = graph.round(RoundRequest(allow_empty=True)).key
        assert graph.frame("hook_events", key).is_empty()
        assert graph.frame("session_findings", key).is_empty()


def test_a_metric_that_is_not_a_number_is_null_with_a_flag_and_a_warning(done):
    graph, key = done
    select = ["training_run", "training_metrics"]
    result = graph.run(key, select=select, trainer=FakeTrainer(broken_metric=True))
    assert result.success
    metadata = metadata_of(result, "training_metrics")
    assert metadata["last/loss"] == dg.MetadataValue.null()
    assert metadata["last/loss_not_finite"].value == "missing"
    (checked,) = [item for item in result.get_asset_check_evaluations() if item.check_name == "no_nan"]
    assert (checked.passed, checked.severity) == (False, dg.AssetCheckSeverity.WARN)
    last = graph.frame("training_metrics", key).tail(2)
    assert not any(math.isnan(value) for value in last["value"].drop_nulls())
    assert not last.filter(last["name"] == "loss")["finite"][0]


def test_a_spool_file_that_changed_under_a_round_is_told(done):
    graph, key = done
    path = next(graph.settings.spool.rglob("*.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"session", b"SESSION", 1))
    message = failures(graph.run(key, select=["hook_events"]))["read_spool"]
    assert "those bytes have changed since it was opened" in message
    assert "restore the file, or open a new round" in message


def test_a_spool_file_that_is_gone_is_told(done):
    graph, key = done
    next(graph.settings.spool.rglob("*.jsonl")).unlink()
    assert "Restore the file" in failures(graph.run(key, select=["hook_events"]))["read_spool"]


def test_a_bank_copy_that_is_gone_is_told(done):
    graph, key = done
    shutil.rmtree(graph.settings.bank_snapshots)
    message = failures(graph.run(key, select=["training_config"]))["training_config"]
    assert "is gone. Restore that folder from a backup, or open a new round." in message


def test_a_parent_checkpoint_that_changed_is_told(done):
    graph, _ = done
    key = graph.open(RoundRequest(allow_empty=True)).key
    (graph.settings.runs / "round-0001/train/checkpoint/level.json").write_text("0.9")
    message = failures(graph.run(key, select=["training_config", "training_run"]))["training_run"]
    assert "it was changed or made on another machine" in message


def test_a_parent_checkpoint_that_is_gone_names_the_command_that_makes_it(done):
    graph, _ = done
    key = graph.open(RoundRequest(allow_empty=True)).key
    shutil.rmtree(graph.settings.runs / "round-0001")
    message = failures(graph.run(key, select=["training_config", "training_run"]))["training_run"]
    assert "agent-evo rounds run round-0001 --only training" in message


def test_an_asset_whose_input_was_never_made_names_the_command_that_makes_it(done):
    graph, _ = done
    key = graph.open(RoundRequest(allow_empty=True)).key
    (message,) = failures(graph.run(key, select=["trajectories"])).values()
    assert "Materialise it first: dagster asset materialize" in message
    assert f"--select hook_events --partition {key}" in message


def test_plots_without_their_package_name_the_line_that_installs_it(done, monkeypatch):
    graph, key = done
    before = bytes_of(graph.settings.reports)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = failures(graph.run(key, select=["analysis_report"]))["analysis_report"]
    assert "pip install 'agent-evo-dagster[plots]'" in message
    assert bytes_of(graph.settings.reports) == before


def test_a_failed_training_leaves_the_finished_one_in_place(done):
    graph, key = done
    before = bytes_of(graph.settings.runs)
    result = graph.run(key, "train_policy", trainer=FakeTrainer(fails="train"))
    assert "fails" not in failures(result)
    assert not result.success
    assert bytes_of(graph.settings.runs).items() >= before.items()
    assert read_metrics(graph.settings.runs / key / "train/metrics.jsonl").height > 0


def edit_bank(graph: Graph, old: str, new: str) -> None:
    path = graph.settings.bank_path / "bank.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_skill_that_joined_the_bank_later_does_not_stop_an_old_round(done):
    graph, key = done
    group = graph.settings.bank_path / "rllm"
    shutil.copytree(group / "rllm-run", group / "rllm-walk")
    base = group / "rllm-walk/base.md"
    base.write_text(base.read_text().replace("rllm-run", "rllm-walk", 1))
    listed = "      rllm-run:\n        output: .claude/skills/rllm-run/SKILL.md\n"
    edit_bank(graph, listed, listed + listed.replace("rllm-run", "rllm-walk"))
    result = graph.run(key, "adopt")
    assert result.success, failures(result)
    assert "rllm-walk" not in graph.frame("skill_versions", key)["name"].to_list()


def test_a_skill_that_left_the_bank_does_not_stop_an_old_round(done):
    graph, key = done
    edit_bank(graph, "      rllm-clarify:\n        output: .claude/skills/rllm-clarify/SKILL.md\n", "")
    result = graph.run(key, "adopt")
    assert result.success, failures(result)
    assert "rllm-clarify" in graph.frame("skill_versions", key)["name"].to_list()
