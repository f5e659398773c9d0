import json

import polars as pl
import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.datasets.registry import open_dataset

ROWS = [{"question": f"What is {number} plus 1?", "answer": f"#### {number + 1}"} for number in range(30)]


def opened(path, kind="file", **settings):
    return open_dataset(TrainingConfig(dataset=kind, dataset_path=str(path), **settings))


@pytest.fixture(params=["jsonl", "parquet"])
def path(request, tmp_path):
    found = tmp_path / f"tasks.{request.param}"
    if request.param == "jsonl":
        found.write_text("\ufeff" + "\n\n".join(map(json.dumps, ROWS)), "utf-8")
    else:
        pl.DataFrame(ROWS).write_parquet(found)
    return found


def test_files_of_both_kinds_give_the_same_tasks(path):
    found = opened(path)
    assert (found.rows, sum(found.kept.values()), sum(found.dropped.values())) == (30, 30, 0)
    task = found.source.tasks("train", 1, 0)[0]
    assert task.question.startswith("What is")
    assert task.answer.isdigit()


def test_a_folder_of_hugging_face_datasets_is_read_whatever_its_splits(tmp_path):
    datasets = pytest.importorskip("datasets", reason="the extra hf is not installed")
    parts = {"train": datasets.Dataset.from_list(ROWS[:20]), "test": datasets.Dataset.from_list(ROWS[20:])}
    datasets.DatasetDict(parts).save_to_disk(tmp_path / "saved")
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "one")
    both, one = opened(tmp_path / "saved", "hf_disk"), opened(tmp_path / "one", "hf_disk")
    assert both.rows == one.rows == 30
    assert both.source.tasks("train", 9, 3) == one.source.tasks("train", 9, 3)
    with pytest.raises(TrainingError, match="holds no saved datasets"):
        opened(tmp_path, "hf_disk")


def test_generated_arithmetic_reads_no_file():
    assert open_dataset(TrainingConfig()).source.task("plus-27-45").answer == "72"
    with pytest.raises(TrainingError, match="reads no file"):
        opened("tasks.jsonl", "arithmetic")


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("none.jsonl", None, "there is no such file"),
        ("rows.csv", "a,b", r"a \.jsonl or \.parquet file was expected"),
        ("rows.jsonl", "{broken", "line 1 is not JSON"),
        ("rows.jsonl", '{"question": "q", "answer": "1"}\n[1]', "line 2 is not a JSON object"),
        ("rows.jsonl", "", "holds no row"),
        ("rows.jsonl", '{"question": "q", "answer": "words"}', "None of 1 rows .*answer_not_a_number': 1"),
        ("rows.jsonl", '{"q": 1}', "question_field"),
        ("rows.parquet", "not parquet", "cannot be read as Parquet"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, name, body, said):
    if body is not None:
        (tmp_path / name).write_text(body)
    with pytest.raises(TrainingError, match=said):
        opened(tmp_path / name)


def test_a_data_set_without_its_path_says_what_it_needs():
    with pytest.raises(TrainingError, match="needs dataset_path"):
        open_dataset(TrainingConfig(dataset="file"))
