"""One round of the whole graph with the real trainer: everything is made, told, checked, and made again."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from agent_evo_dagster.definitions import TEMPLATE, build_defs
from agent_evo_dagster.files import sha256_file, sha256_tree
from agent_evo_dagster.rounds.lineage import ancestors, descendants
from agent_evo_dagster.rounds.opening import RoundRequest
from agent_evo_dagster.rounds.reproduction import reproduce
from agent_evo_dagster.rounds.verification import verify_task
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.placement import placement
from tests.assets.graph import ROOT, Graph, bytes_of, graph_at

# As little as still passes through every part: a trend needs 5 steps, the gate 20 tasks.
SMALL = {
    "max_steps": 6,
    "prompts_per_step": 4,
    "num_generations": 4,
    "evaluation_tasks": 20,
    "evaluation_samples": 1,
}
PROBE = {"ops": {"patch_evaluation": {"config": {"tasks": 20, "samples": 1, "seeds": 1, "steps": 1}}}}
# The keys that readers of the older system's status.json ask for.
OLD_KEYS = {"round", "status", "training", "optimization"}
OLD_TRAINING = {"run_id", "run_ids", "session_id", "reward", "success"}
OLD_OPTIMIZATION = {"report_path", "patches_generated", "patches_accepted"}


@dataclass(frozen=True)
class Made:
    """A finished round, and what the checkout and the working folder held before and after."""

    graph: Graph
    key: str
    result: dg.ExecuteInProcessResult
    stray: list[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("whole")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    before = outside()
    with graph_at(folder / "home") as graph, contextlib.chdir(elsewhere):
        key = graph.open(RoundRequest(overrides=SMALL)).key
        result = graph.run(key, config=PROBE)
        assert result.success
        stray = [path.name for path in elsewhere.iterdir()]
        stray += sorted({path.name for path in folder.iterdir()} - {"home", "elsewhere", "instance"})
        stray += sorted(outside() ^ before)
        yield Made(graph, key, result, stray)


def outside() -> set[tuple[str, str]]:
    """What a round could leave in the checkout: names at its top, and the bytes of the shipped bank."""
    hidden = {".agent_evo", ".claude"}  # other names with a dot are caches of tools that run beside this
    names = {(path.name, "") for path in ROOT.iterdir() if path.name[0] != "." or path.name in hidden}
    return names | {
        (path.relative_to(ROOT).as_posix(), sha256_file(path))
        for path in TEMPLATE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_every_asset_is_materialised(made):
    graph = build_defs(made.graph.settings).resolve_asset_graph()
    events = made.result.get_asset_materialization_events()
    assert {event.asset_key for event in events} == graph.materializable_asset_keys


def test_every_check_is_evaluated_and_what_must_hold_holds(made):
    evaluations = {item.asset_check_key: item for item in made.result.get_asset_check_evaluations()}
    assert set(evaluations) == build_defs(made.graph.settings).resolve_asset_graph().asset_check_keys
    failed = {key.name for key, item in evaluations.items() if not item.passed}
    assert failed <= {"gate_verdict"}  # so short a probe may show nothing; all others must hold


def test_every_asset_tells_its_rows_and_where_they_are(made):
    for event in made.result.get_asset_materialization_events():
        metadata = event.materialization.metadata
        assert metadata["rows"].value >= 0
        assert Path(metadata["path"].value).exists()


def test_a_run_tells_where_and_how_precisely_it_was_computed(made):
    (event,) = [
        each
        for each in made.result.get_asset_materialization_events()
        if each.asset_key == dg.AssetKey("training_run")
    ]
    metadata = event.materialization.metadata
    here = placement(TrainingConfig())
    assert (metadata["device"].value, metadata["dtype"].value) == (here.device, here.dtype)
    assert metadata["inputs"].value == "settings alone"
    assert metadata["starts_from"].value == "embedded"


def test_numbers_in_metadata_are_json(made):
    for event in made.result.get_asset_materialization_events():
        json.dumps(json.loads(dg.serialize_value(event.materialization)), allow_nan=False)


def test_report_checkpoint_and_skills_exist(made):
    settings = made.graph.settings
    report = settings.reports / made.key
    assert "<img" in (report / "report.html").read_text() or "<svg" in (report / "report.html").read_text()
    assert (report / "report.md").read_text().startswith("#")
    trained = settings.runs / made.key / "train/checkpoint"
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= {path.name for path in trained.iterdir()}
    for ref in made.graph.bank.skills():
        assert made.graph.skill(ref.name).read_text().startswith("---\nname: ")


def test_the_checkpoint_in_the_warehouse_is_the_one_on_disk(made):
    found = made.graph.frame("checkpoint", made.key)["sha256"][0]
    assert found == sha256_tree(made.graph.settings.runs / made.key / "train/checkpoint")


def test_lineage_walks_from_the_checkpoint_to_the_skill_and_the_bank(made):
    edges = made.graph.frame("round_lineage", made.key)
    run = made.graph.frame("training_run", made.key).row(0, named=True)
    found = ancestors(edges, run["checkpoint_sha256"])
    kinds = {kind for kind, _ in found}
    assert {"rollouts", "run", "config", "skill", "bank", "checkpoint"} <= kinds
    assert any(name.startswith("rllm-config@") for _, name in found)


def test_lineage_walks_from_what_sessions_showed_to_their_events_and_back(made):
    edges = made.graph.frame("round_lineage", made.key)
    events = set(made.graph.frame("hook_events", made.key)["event_id"])
    finding = made.graph.frame("session_findings", made.key)["finding_id"][0]
    reached = {name for kind, name in ancestors(edges, finding) if kind == "event"}
    assert reached and reached <= events
    assert ("finding", finding) in descendants(edges, min(reached))


def test_the_frozen_round_holds_together_and_trains_again_to_the_same_bytes(made, tmp_path):
    package = made.graph.settings.bank_path / made.graph.frame("skill_packages", made.key)["package"][0]
    assert [item for item in verify_task(package) if item.problem] == []
    done = reproduce(package, tmp_path / "again")
    assert (done.differing, done.packages, done.hardware) == ((), {}, {})
    assert {"checkpoint/model.safetensors", "metrics.jsonl", "rollouts.parquet"} <= set(done.same)


def test_every_event_is_in_the_lineage(made):
    edges = made.graph.frame("round_lineage", made.key)
    in_edges = set(edges.filter(edges["parent_kind"] == "event")["parent"])
    assert in_edges == set(made.graph.frame("hook_events", made.key)["event_id"])


def test_status_json_has_the_keys_of_the_older_system(made):
    status = json.loads((made.graph.settings.rounds / made.key / "status.json").read_text())
    assert status.keys() >= OLD_KEYS
    assert status["training"].keys() >= OLD_TRAINING
    assert status["optimization"].keys() >= OLD_OPTIMIZATION
    assert status["round"] == 1
    assert status["training"]["success"]
    assert status["sessions"] == 6


def test_nothing_outside_the_home_is_written(made):
    assert made.stray == []


def test_nothing_that_is_stored_names_the_machine(made):
    """A path in a frame would make the same round differ on another machine."""
    home = str(made.graph.settings.root).encode()
    frames = bytes_of(made.graph.settings.warehouse)
    for path in made.graph.settings.warehouse.rglob("*.parquet"):
        text = made.graph.frame(path.parent.relative_to(made.graph.settings.warehouse).as_posix(), made.key)
        assert home not in text.write_json().encode(), path
    assert frames


def test_dagster_knows_the_hash_of_a_skill_as_its_version(made):
    by_key = {e.asset_key: e.materialization for e in made.result.get_asset_materialization_events()}
    skill = by_key[dg.AssetKey(["skills", "rllm", "rllm-config"])]
    compiled = made.graph.frame("skills/rllm/rllm-config", made.key)["sha256"][0]
    assert skill.tags["dagster/data_version"] == compiled
    assert compiled == sha256_file(made.graph.skill("rllm-config"))


def test_the_main_process_needs_no_torch():
    code = (
        "import sys, agent_evo_dagster.definitions; sys.exit('torch' in sys.modules or 'trl' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_one_asset_made_again_has_the_same_bytes(made):
    before = bytes_of(made.graph.settings.warehouse)
    again = made.graph.run(made.key, select=["training_findings", "analysis_report"])
    assert again.success
    assert bytes_of(made.graph.settings.warehouse) == before


def test_the_whole_round_made_again_has_the_same_bytes(made):
    settings = made.graph.settings
    kept = [settings.warehouse, settings.reports, settings.root / ".claude", settings.bank_path]
    kept.append(settings.runs / made.key / "train/checkpoint")
    before = [bytes_of(folder) for folder in kept]
    assert made.graph.run(made.key, config=PROBE).success
    for folder, held in zip(kept, before, strict=True):
        assert bytes_of(folder) == held, folder.name
