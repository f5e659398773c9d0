"""What a training's asset and the report say of where a run began and what it read."""

import json
from datetime import UTC, datetime

import polars as pl
import pytest

from agent_evo_dagster.rounds.reporting import checkpoints
from agent_evo_dagster.rounds.types import ParentCheckpoint, RoundManifest
from agent_evo_dagster.training.config_sources import resolve_config, to_frame
from agent_evo_dagster.training.output import INPUTS_FILE
from assets.training import _inputs

PARENT = ParentCheckpoint(round="round-0001", sha256="a" * 64)


def test_files_and_rows_of_data_stand_beside_the_run(tmp_path) -> None:
    assert _inputs(tmp_path)["inputs"].value == "settings alone"
    (tmp_path / INPUTS_FILE).write_text(json.dumps({"sha256": {"reward": "ab"}}))
    (record,) = _inputs(tmp_path)["inputs"].records
    assert record.data == {"what": "sha256", "name": "reward", "value": "ab"}


@pytest.mark.parametrize(
    ("parent", "start", "model", "said"),
    [
        (PARENT, "a" * 64, "embedded", "start (round-0001)"),
        (PARENT, "b" * 64, "smollm2", "start (base of the model smollm2)"),
        (None, "b" * 64, "embedded", "start (base of the model embedded)"),
        (None, "b" * 64, "/models/mine", "start (base of the model mine)"),
    ],
)
def test_a_round_that_changed_the_model_did_not_start_from_the_one_before(parent, start, model, said) -> None:
    manifest = RoundManifest.model_construct(parent=parent, opened_at=datetime.now(UTC))
    run = pl.DataFrame({"init_sha256": [start], "checkpoint_sha256": ["c" * 64]})
    config = to_frame(resolve_config(skill_settings=[], request="", overrides={"model": model}, seed=0))
    assert checkpoints(manifest, run, config) == {said: start, "trained": "c" * 64}
