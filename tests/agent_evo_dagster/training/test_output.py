import json

import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.output import INPUTS_FILE, INPUTS_SCHEMA, read_inputs


def test_what_a_run_read_is_told_by_setting_reason_and_split(tmp_path) -> None:
    rows = {"read": 41, "dropped": {"answer_not_a_number": 1}, "kept": {"train": 30, "dev": 10}}
    (tmp_path / INPUTS_FILE).write_text(json.dumps({"sha256": {"dataset_path": "ab"}, "rows": rows}))
    found = read_inputs(tmp_path)
    assert found.schema == INPUTS_SCHEMA
    assert found.rows() == [
        ("sha256", "dataset_path", "ab"),
        ("read", "rows", "41"),
        ("dropped", "answer_not_a_number", "1"),
        ("kept", "train", "30"),
        ("kept", "dev", "10"),
    ]


def test_a_run_of_settings_alone_read_nothing(tmp_path) -> None:
    assert read_inputs(tmp_path).equals(INPUTS_SCHEMA.to_frame())


@pytest.mark.parametrize("text", ["{", "[]", '{"sha256": 3}', '{"more": {}}', '{"rows": {"read": 1}}'])
def test_another_form_is_an_error(tmp_path, text) -> None:
    (tmp_path / INPUTS_FILE).write_text(text)
    with pytest.raises(TrainingError, match="not a list of inputs"):
        read_inputs(tmp_path)
