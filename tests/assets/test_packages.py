"""Packages as assets: the frozen round tells what it holds, the registry shows switches, archives work."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from agent_evo_dagster.cli.main import app
from agent_evo_dagster.definitions import build_defs
from agent_evo_dagster.errors import RoundError, SkillBankError
from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.rounds import verification
from agent_evo_dagster.rounds.archive import archive_rounds, verify_archive
from agent_evo_dagster.rounds.finished import finished_round, round_of_run
from agent_evo_dagster.rounds.packaging import freeze_round
from agent_evo_dagster.rounds.verification import verify_task
from agent_evo_dagster.skills.packages.check import Checked, check_packages, smoke_test
from agent_evo_dagster.skills.packages.ids import parse_id
from agent_evo_dagster.skills.packages.registry import read_registry
from agent_evo_dagster.training.request import WorkerRequest, WorkerResult
from tests.assets.fake_trainer import FakeTrainer
from tests.assets.graph import QUIET, Graph, bytes_of, failures, fake_graph, only_round


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two finished rounds, the second of which starts from the first."""
    home = tmp_path_factory.mktemp("two") / "home"
    with fake_graph(home) as graph:
        graph.round()
        graph.round()
    return home


@pytest.fixture
def graph(two: Path, tmp_path: Path) -> Iterator[Graph]:
    """The graph on a copy of it."""
    with fake_graph(shutil.copytree(two, tmp_path / "home"), sessions=False) as made:
        yield made


@pytest.fixture(autouse=True)
def fake_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake trainer starts from a base of its own."""
    monkeypatch.setattr(verification, "EMBEDDED_SHA256", sha256_bytes(b"base"))


def archive(graph: Graph, **config: str) -> dg.ExecuteInProcessResult:
    asked = {**QUIET, "ops": {"freeze_rounds": {"config": config}}}
    job = build_defs(graph.settings).get_job_def("archive_rounds")
    return job.execute_in_process(instance=graph.instance, run_config=asked, raise_on_error=False)


def test_each_finished_round_is_registered_whole_and_holds_together(graph: Graph) -> None:
    bank = graph.settings.bank_path
    assert list(read_registry(bank).packages) == ["task-packages/round-0001", "task-packages/round-0002"]
    assert check_packages(bank) == Checked(2, (), ())
    for key in ("round-0001", "round-0002"):
        path = bank / "packages/task-packages" / key
        assert [item.problem for item in verify_task(path)] == [""] * 7
        assert smoke_test(bank, parse_id(f"task-packages/{key}")) == []
    about = verification.TaskPackage(path).about
    assert about.init_sha256 != sha256_bytes(b"base")
    assert (path / "init/level.json").is_file()
    assert not (bank / "packages/task-packages/round-0001/init").exists()
    assert about.dataset.training_tasks > 1
    assert about.packages == {"python": "3"}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("run/checkpoint/level.json", "files: every hash"),
        ("bank/rllm/rllm-config/base.md", "files: every hash"),
        ("report.md", "files: every hash"),
    ],
)
def test_a_changed_file_of_a_frozen_round_is_found(graph: Graph, name: str, what: str) -> None:
    path = graph.settings.bank_path / "packages/task-packages/round-0001"
    (path / name).write_bytes(b"{}")
    (found,) = verify_task(path)
    assert (found.what, found.problem) == (what, f"{name} was changed")
    assert len(check_packages(graph.settings.bank_path).problems) == 1


def test_a_package_whose_parts_do_not_belong_together_is_found(graph: Graph) -> None:
    """Frozen as such, so that every hash of a file is right."""
    path = graph.settings.bank_path / "packages/task-packages/round-0001"
    index = json.loads((path / "package.json").read_text())
    about = index["about"]
    about["checkpoint_sha256"] = about["init_sha256"] = about["bank_hash"] = "0" * 64
    about["dataset"]["training_tasks"] = 1
    about["training_seed"] = 1
    about["hardware"] = about["packages"] = {}
    (path / "package.json").write_text(json.dumps(index))
    found = verify_task(path)
    assert [bool(item.problem) for item in found] == [False] + [True] * 6
    assert "not the registered one" in check_packages(graph.settings.bank_path).problems[0]


def test_the_asset_tells_what_a_reader_asks_of_a_package(graph: Graph) -> None:
    graph.instance.add_dynamic_partitions("evolution_rounds", ["round-0002"])
    result = graph.run("round-0002", "adopt", select=["skill_packages"])
    (event,) = result.get_asset_materialization_events()
    metadata = event.materialization.metadata
    assert metadata["state"].value == "was frozen before"
    assert metadata["seed"].value > 0
    assert metadata["dataset"].value["held_out_tasks"] > 1
    assert metadata["reproduce"].value == "`agent-evo task-package reproduce task-packages/round-0002`"
    assert Path(str(metadata["folder"].value)).is_dir()
    files = {record.data["file"] for record in metadata["contents"].records}
    assert {"config.json", "run/rollouts.parquet", "init/level.json", "report.md"} <= files


def test_the_registry_is_observed_with_what_is_current(graph: Graph) -> None:
    job = build_defs(graph.settings).resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=graph.instance, asset_selection=[dg.AssetKey("package_registry")], run_config=QUIET
    )
    (event,) = result.get_asset_observation_events()
    metadata = event.asset_observation_data.asset_observation.metadata
    assert metadata["packages"].value == 2
    assert [record.data["package"] for record in metadata["registered"].records] == [
        "task-packages/round-0002",
        "task-packages/round-0001",
    ]


def test_a_range_of_rounds_is_archived_by_a_job_and_never_again_under_that_name(graph: Graph) -> None:
    result = archive(graph, name="first", rounds="1-2")
    assert result.success, failures(result)
    (event,) = result.get_asset_materialization_events()
    metadata = event.materialization.metadata
    assert metadata["rounds"].value == 2
    assert metadata["events"].value > 0
    path = graph.settings.bank_path / "packages/lineage-archive/first"
    assert verify_archive(path) == []
    held = {name.partition("/rounds/")[2] or name for name in bytes_of(path)}
    for key in ("round-0001", "round-0002"):
        for name in ("status.json", "report.md", "patch_decisions.parquet", "hook_events.parquet"):
            assert f"rounds/{key}/{name}" in held
    frame = pl.read_parquet(path / "rounds/round-0001/skill_patches.parquet")
    assert frame.equals(graph.frame("skill_patches", "round-0001"))
    assert (path / "decisions.jsonl").read_bytes() == graph.ledger.path.read_bytes()
    before = bytes_of(path)
    again = archive(graph, name="first", rounds="1")
    assert "lineage-archive/first exists" in failures(again)["freeze_rounds"]
    assert bytes_of(path) == before
    assert "lineage-archive/first" in read_registry(graph.settings.bank_path).packages


def test_a_damaged_archive_is_found(graph: Graph) -> None:
    path = archive_rounds(graph.settings, "one", ["round-0001"]).path
    index = json.loads((path / "package.json").read_text())
    index["about"]["records"] = 99
    (path / "package.json").write_text(json.dumps(index))
    assert "the archive says 99" in verify_archive(path)[0]
    (path / "decisions.jsonl").write_text("{}\n")
    assert verify_archive(path) == ["decisions.jsonl was changed"]


def test_rounds_that_are_not_finished_or_not_there_are_not_frozen(graph: Graph) -> None:
    (graph.settings.rounds / "round-0002/status.json").unlink()
    with pytest.raises(RoundError, match="round-0002 is to be archived, and it is not finished"):
        archive_rounds(graph.settings, "x", ["round-0001", "round-0002"])
    with pytest.raises(RoundError, match="round-0002 is to be frozen, and it is not finished"):
        finished_round(graph.settings, "round-0002")
    with pytest.raises(RoundError, match="round-0009"):
        archive_rounds(graph.settings, "x", ["round-0009"])
    assert not (graph.settings.bank_path / "packages/lineage-archive").exists()


def test_a_finished_round_is_frozen_again_under_a_name_of_its_own(graph: Graph) -> None:
    run_id = graph.frame("training_run", "round-0001")["run_id"][0]
    folder = graph.settings.runs / "round-0001/train"
    assert round_of_run(graph.settings, run_id=run_id) == "round-0001"
    assert round_of_run(graph.settings, run_dir=folder) == "round-0001"
    with pytest.raises(RoundError, match=f"there are: {run_id}"):
        round_of_run(graph.settings, run_id="nope")
    bank, finished = graph.settings.bank_path, finished_round(graph.settings, "round-0001")
    before = bytes_of(bank)
    assert freeze_round(bank, finished, name="mine", dry_run=True).made
    assert bytes_of(bank) == before
    frozen = freeze_round(bank, finished, name="mine")
    assert [item.problem for item in verify_task(frozen.path)] == [""] * 7
    with pytest.raises(SkillBankError, match="never changes"):
        freeze_round(bank, finished_round(graph.settings, "round-0002"), name="mine")


def test_a_patch_that_a_round_found_judged_and_adopted_is_evidence_for_a_promotion(graph: Graph) -> None:
    (patch,) = graph.bank.active()
    options = ("--by", "Ada", "--reason", "a test")
    packages = ("skills", "packages")
    for words in (
        ("freeze", "stable", "v1"),
        ("freeze", "experimental", "v1", "--domain", "arithmetic"),
        ("promote", "experimental/arithmetic/v1"),
    ):
        assert command(graph, *packages, *words, *options).exit_code == 0
    review = json.loads(command(graph, *packages, "review", "vertical/arithmetic/v1", "--json").output)
    (row,) = review["patches"]
    assert (row["patch"], row["round"], row["gate"], row["decision"], row["by"]) == (
        patch,
        "round-0001",
        "accept",
        "approve",
        "policy:auto",
    )
    assert check_packages(graph.settings.bank_path).problems == ()


def command(graph: Graph, *arguments: str) -> Result:
    environment = {"AGENT_EVO_HOME": str(graph.settings.root), "COLUMNS": "200"}
    return CliRunner().invoke(app, arguments, env=environment)


def test_a_frozen_round_is_listed_shown_and_verified_by_commands(graph: Graph, tmp_path: Path) -> None:
    assert "task-packages/round-0002" in command(graph, "task-package", "list").output
    assert json.loads(command(graph, "task-package", "show", "round-0001").output)["round"] == "round-0001"
    found = command(graph, "task-package", "verify", "task-packages/round-0001")
    assert (found.exit_code, found.output.count("as it was")) == (0, 8)
    path = graph.settings.bank_path / "packages/task-packages/round-0001"
    copy = shutil.copytree(path, tmp_path / "elsewhere/round-0001")
    assert command(graph, "task-package", "verify", str(copy), "--json").exit_code == 0
    (path / "report.md").write_text("x")
    changed = command(graph, "task-package", "verify", "round-0001", "--json")
    assert changed.exit_code == 1
    assert json.loads(changed.output)["checks"][1]["problem"] == "report.md was changed"
    unknown = command(graph, "task-package", "verify", "round-0009")
    assert isinstance(unknown.exception, SkillBankError)


def test_a_round_is_frozen_and_archived_by_commands(graph: Graph) -> None:
    dry = command(graph, "task-package", "freeze", "round-0001", "--name", "mine", "--dry-run")
    assert dry.output.startswith("would freeze task-packages/mine: ")
    assert command(graph, "task-package", "freeze", "round-0001").output == (
        "task-packages/round-0001 has exactly this content already\n"
    )
    before = bytes_of(graph.settings.bank_path)
    assert command(graph, "lineage", "archive", "both", "--rounds", "1-2", "--dry-run").exit_code == 0
    assert bytes_of(graph.settings.bank_path) == before
    made = command(graph, "lineage", "archive", "both", "--rounds", "1-2", "--json")
    assert json.loads(made.output)["package"] == "lineage-archive/both"
    shown = command(graph, "lineage", "show", "both").output
    assert "round-0002" in shown
    assert command(graph, "lineage", "verify", "lineage-archive/both").output.endswith("as it was frozen\n")
    (graph.settings.bank_path / "packages/lineage-archive/both/decisions.jsonl").write_text("")
    damaged = command(graph, "lineage", "verify", "both", "--json")
    assert (damaged.exit_code, json.loads(damaged.output)["whole"]) == (1, False)


def test_the_doctor_sees_what_became_of_packages(graph: Graph) -> None:
    assert "ok    2 packages are as they were frozen" in command(graph, "doctor").output
    (graph.settings.bank_path / "packages/task-packages/round-0001/report.md").write_text("x")
    told = command(graph, "doctor")
    assert told.exit_code == 1
    assert "MEND  package task-packages/round-0001 at " in told.output


def test_training_again_elsewhere_names_what_differs(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fake training, run in place of the worker: the same; then with another package and machine."""
    told = {"packages": {"python": "3"}, "hardware": {"machine": "any"}}

    def worker(request: WorkerRequest, **_: object) -> WorkerResult:
        request.run_dir.mkdir(parents=True)
        result = FakeTrainer()._work(request, request.run_dir)
        if told["packages"] != result.packages:
            (request.run_dir / "checkpoint/level.json").write_text("0.5")
            (request.run_dir / "checkpoint/more.json").write_text("{}")
        return result.model_copy(update=told)

    monkeypatch.setattr("agent_evo_dagster.rounds.reproduction.run_worker", worker)
    same = command(graph, "task-package", "reproduce", "round-0002")
    assert (same.exit_code, "the same, byte for byte" in same.output) == (0, True)
    told.update(packages={"python": "4", "torch": "9"}, hardware={"machine": "other"})
    other = command(
        graph, "task-package", "reproduce", "round-0002", "--into", str(tmp_path / "again"), "--json"
    )
    assert other.exit_code == 3
    found = json.loads(other.output)
    assert found["differing"] == ["checkpoint/level.json", "checkpoint/more.json"]
    assert found["packages"] == {"python": ["3", "4"], "torch": ["none", "9"]}
    assert found["hardware"] == {"machine": ["any", "other"]}
    again = command(graph, "task-package", "reproduce", "round-0002", "--into", str(tmp_path / "again"))
    assert "is not empty; name another" in str(again.exception)
    shown = command(graph, "task-package", "reproduce", "round-0002").output
    assert "The environment is another one: python: 3 then, 4 now" in shown
    (graph.settings.bank_path / "packages/task-packages/round-0002/report.md").write_text("x")
    damaged = command(graph, "task-package", "reproduce", "round-0002")
    assert "was damaged: report.md was changed" in str(damaged.exception)


def test_a_round_that_waits_for_a_person_is_not_frozen(finished: Path, tmp_path: Path) -> None:
    home = shutil.copytree(finished, tmp_path / "home")
    with fake_graph(home, policy="manual", sessions=False) as graph:
        key = only_round(graph)
        with pytest.raises(RoundError, match="has a patch that waits for a person"):
            finished_round(graph.settings, key)
