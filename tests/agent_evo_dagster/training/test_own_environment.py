"""A person's own environment from a file through a real worker: the example of docs/training.md itself."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.request import EvaluationSpec, WorkerRequest

DOCS = Path(__file__).parents[3] / "docs" / "training.md"


def work(folder, request):
    (folder / "REQUEST.json").write_text(request.model_dump_json())
    command = [sys.executable, "-m", "agent_evo_dagster.training.worker", str(folder / "REQUEST.json")]
    return subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)


@pytest.fixture
def example(tmp_path, torch):
    pytest.importorskip("trl", reason="the extra hf is not installed")
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    (tmp_path / "one_try.py").write_text(code)
    return tmp_path / "one_try.py"


@pytest.mark.docs
def test_the_example_of_the_docs_trains_and_is_evaluated(tmp_path, example):
    config = TrainingConfig(
        environment=f"{example}:OneTry",
        tool_listing="none",
        max_steps=1,
        prompts_per_step=2,
        num_generations=4,
    )
    asked = WorkerRequest(job="train", run_dir=tmp_path / "run", config=config, init_checkpoint=None)
    done = work(tmp_path, asked)
    assert done.returncode == 0, done.stderr
    (line,) = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    metrics = json.loads(line)["metrics"]
    assert {"rewards/correct/mean", "rewards/patience/mean"} <= metrics.keys()
    rows = pl.read_parquet(tmp_path / "run" / "rollouts.parquet")
    assert set(rows["finish"]) <= {"stop", "length", "tool_limit"}
    expected = rows["correct"].cast(pl.Float64) - 0.05 * rows["turns"]
    assert rows["reward"].to_list() == pytest.approx(expected.to_list())
    inputs = json.loads((tmp_path / "run" / "inputs.json").read_text())
    assert inputs == {"sha256": {"environment": sha256_file(example)}}

    spec = EvaluationSpec(split="judge", tasks=4, samples=2, greedy=False, seed=0)
    after = asked.model_copy(
        update={"job": "evaluate", "checkpoint": tmp_path / "run" / "checkpoint", "evaluation": spec}
    )
    done = work(tmp_path, after.model_copy(update={"run_dir": tmp_path / "evaluation"}))
    assert done.returncode == 0, done.stderr
    scored = pl.read_parquet(tmp_path / "evaluation" / "evaluation.parquet")
    assert scored["reward"].is_not_null().all()


def test_an_environment_that_cannot_be_imported_is_told_in_one_line(tmp_path, torch):
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found\n")
    config = TrainingConfig(environment=f"{tmp_path}/broken.py:Env", max_steps=1)
    done = work(
        tmp_path, WorkerRequest(job="train", run_dir=tmp_path / "run", config=config, init_checkpoint=None)
    )
    assert done.returncode == 1
    assert "broken.py cannot be imported (ModuleNotFoundError" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_round_trains_on_a_file_of_tasks_and_says_what_it_dropped(tmp_path, torch):
    pytest.importorskip("trl", reason="the extra hf is not installed")
    rows = [{"question": f"What is {a} plus 7?", "answer": f"So {a} + 7.\n#### {a + 7}"} for a in range(40)]
    rows.append({"question": "Who?", "answer": "nobody"})
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))
    config = TrainingConfig(
        dataset="file",
        dataset_path=str(tmp_path / "tasks.jsonl"),
        reward="binary",
        max_steps=1,
        prompts_per_step=2,
        num_generations=2,
    )
    done = work(
        tmp_path, WorkerRequest(job="train", run_dir=tmp_path / "run", config=config, init_checkpoint=None)
    )
    assert done.returncode == 0, done.stderr
    assert "Of 41 rows these were dropped: {'answer_not_a_number': 1}" in done.stderr
    inputs = json.loads((tmp_path / "run" / "inputs.json").read_text())
    assert inputs["rows"]["dropped"]["answer_not_a_number"] == 1
    assert sum(inputs["rows"]["kept"].values()) == 40
    trained = pl.read_parquet(tmp_path / "run" / "rollouts.parquet")
    assert set(trained["reward"]) <= {0.0, 1.0}
    assert trained["prompt"].str.contains("plus 7").all()
