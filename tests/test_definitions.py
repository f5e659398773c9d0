"""The code location as Dagster loads it: every spec against its snapshot, and what loading may not do.

After a wanted change: `python -m tests.test_definitions` writes the snapshot again.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from agent_evo_dagster.definitions import TEMPLATE, build_defs
from agent_evo_dagster.settings import Settings
from assets.partitions import EVOLUTION_ROUNDS

ROOT = Path(__file__).parents[1]
SNAPSHOT = Path(__file__).with_name("definitions.txt")
HEAVY = ("torch", "transformers", "trl", "matplotlib", "datasets")


def definitions(home: Path = Path("/nowhere")) -> dg.Definitions:
    """Of a home without a bank: the shipped one decides which skills there are."""
    return build_defs(Settings(home=home))


def listed(defs: dg.Definitions) -> Iterator[str]:
    """Everything that a person or an automation relies on by name, one block each."""
    graph = defs.resolve_asset_graph()
    for key in sorted(graph.get_all_asset_keys()):
        node = graph.get(key)
        yield f"{key.to_user_string()}"
        yield f"  group {node.group_name}, owners {', '.join(sorted(node.owners))}"
        yield f"  kinds {', '.join(sorted(node.kinds))}"
        partitions = node.partitions_def.name if node.partitions_def else "none"
        yield f"  partitions {partitions}, pool {', '.join(sorted(node.pools or ())) or 'none'}"
        parents = sorted(parent.to_user_string() for parent in node.parent_keys)
        yield f"  from {', '.join(parents) or 'outside'}"
        checks = sorted(name.name for name in node.check_keys)
        blocking = {name.name for name in node.check_keys if graph.get(name).blocking}
        shown = [f"{name} (blocking)" if name in blocking else name for name in checks]
        yield f"  checks {', '.join(shown) or 'none'}"
    repository = defs.get_repository_def()
    for job in sorted(repository.get_all_jobs(), key=lambda job: job.name):
        yield f"job {job.name}: {len(job.asset_layer.selected_asset_keys)} assets"
    for sensor in sorted(repository.sensor_defs, key=lambda sensor: sensor.name):
        yield f"sensor {sensor.name} -> {sensor.job_name}, {sensor.default_status.value}"
    for schedule in sorted(repository.schedule_defs, key=lambda schedule: schedule.name):
        yield f"schedule {schedule.name} -> {schedule.job_name}, {schedule.default_status.value}"


def test_every_spec_is_as_in_the_snapshot():
    assert "\n".join(listed(definitions())) + "\n" == SNAPSHOT.read_text()


def test_every_asset_and_check_is_described():
    graph = definitions().resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        text = graph.get(key).description
        assert text and text.endswith("."), key
        assert "\n" not in text, key
    for job in definitions().get_repository_def().get_all_jobs():
        assert job.name == "__ASSET_JOB" or job.description, job.name


def test_what_is_made_is_partitioned_by_the_round():
    graph = definitions().resolve_asset_graph()
    for key in graph.materializable_asset_keys:
        assert graph.get(key).partitions_def == EVOLUTION_ROUNDS, key


def test_definitions_are_fresh_for_each_settings(tmp_path):
    one, other = definitions(tmp_path / "one"), definitions(tmp_path / "other")
    assert one.resources["io_manager"].root != other.resources["io_manager"].root


def test_resources_can_be_replaced():
    mine = object()
    assert build_defs(Settings(home=Path("/nowhere")), {"trainer": mine}).resources["trainer"] is mine


def test_the_skills_of_the_bank_are_the_assets(tmp_path):
    keys = definitions().resolve_asset_graph().materializable_asset_keys
    skills = {key.path[2] for key in keys if key.path[0] == "skills"}
    assert skills == {path.parent.name for path in TEMPLATE.glob("*/*/base.md")}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Dagster's own variables, with a home that is empty."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENT_EVO_")}
    dagster = tmp_path / "dagster"
    dagster.mkdir()
    more = {"DAGSTER_HOME": str(dagster), "AGENT_EVO_HOME": str(tmp_path / "home")}
    return {**kept, **more, "DAGSTER_DISABLE_TELEMETRY": "1"}


def test_loading_imports_nothing_heavy_and_writes_nothing(environment, tmp_path):
    code = f"import sys, agent_evo_dagster.definitions; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    assert not (tmp_path / "home").exists()


def test_the_workspace_is_valid_for_dagster(environment):
    command = [sys.executable, "-m", "dagster", "definitions", "validate", "-w", "workspace.yaml"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "All code locations passed validation" in done.stdout + done.stderr


def test_an_unopened_partition_made_by_hand_names_the_command_that_opens_rounds(tmp_path):
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)) as instance:
        for key in ("round-0007", "a,b", "x" * 300, "round-0001\n", "round-0001/..", "round-1"):
            instance.add_dynamic_partitions("evolution_rounds", [key])
            result = (
                definitions(tmp_path / "home")
                .resolve_job_def("evolution_round")
                .execute_in_process(
                    instance=instance,
                    partition_key=key,
                    asset_selection=[dg.AssetKey("training_config"), dg.AssetKey("quarantined_lines")],
                    raise_on_error=False,
                )
            )
            assert not result.success, key
            for event in result.get_step_failure_events():
                message = event.step_failure_data.error.cause.message
                assert "RoundError" in message
                assert "agent-evo rounds open" in message
                assert len(message) < 600
    assert not (tmp_path / "home").exists()


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join(listed(definitions())) + "\n")
