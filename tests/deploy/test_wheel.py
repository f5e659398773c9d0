"""The wheel alone, where nobody can import Dagster, trains. Run by `make test-wheel`, which builds it."""

import json
import os
import subprocess
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.request import EvaluationSpec, WorkerRequest, WorkerResult

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(600)]

BLOCKED = (
    "dagster",
    "dagster_shared",
    "dagster_webserver",
    "dagster_graphql",
    "assets",
    "resources",
    "automation",
)
REPORT = """
import sys, runpy
sys.argv = ["worker", sys.argv[1]]
try:
    runpy.run_module("agent_evo_dagster.training.worker", run_name="__main__", alter_sys=True)
except SystemExit as end:
    import agent_evo_dagster
    print(agent_evo_dagster.__file__)
    print(sorted({name.partition(".")[0] for name, module in sys.modules.items() if module is not None}))
    raise
"""


@pytest.fixture(scope="module")
def wheel():
    path = os.environ.get("AGENT_EVO_WHEEL")
    if not path:
        pytest.fail("AGENT_EVO_WHEEL is not set: run these tests with `make test-wheel`")
    return Path(path)


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """An environment with the wheel; what it depends on is taken from this one, Dagster excepted."""
    root = tmp_path_factory.mktemp("wheel") / "venv"
    venv.create(root, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(root), "platbase": str(root)}))
    with zipfile.ZipFile(wheel) as archive:  # a wheel of pure Python is installed by unpacking it
        archive.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (site / "sitecustomize.py").write_text(f"import sys\nfor name in {BLOCKED}: sys.modules[name] = None\n")
    return root / "bin/python"


def work(python, folder, **fields):
    request = WorkerRequest(
        run_dir=folder / "run",
        config=TrainingConfig(learning_rate=1e-3, max_steps=1, prompts_per_step=2, num_generations=2),
        init_checkpoint=None,
        **fields,
    )
    folder.mkdir()
    (folder / "REQUEST.json").write_text(request.model_dump_json())
    done = subprocess.run(
        [python, "-P", "-c", REPORT, folder / "REQUEST.json"],
        cwd=folder, capture_output=True, text=True, check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "run", done.stdout.splitlines()


def test_the_wheel_holds_the_library_alone(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert "agent_evo_dagster/training/worker.py" in names
    assert "agent_evo_dagster/definitions.py" not in names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"agent_evo_dagster"}
    needed = [
        line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra" not in line
    ]
    assert [line for line in needed if "dagster" in line] == ["Requires-Dist: dagster-pipes<1.14,>=1.13"]


def test_it_trains_and_loads_no_dagster_but_pipes(python, tmp_path):
    run, said = work(python, tmp_path / "train", job="train")
    result = WorkerResult.model_validate_json((run / "result.json").read_bytes())
    assert result.checkpoint_sha256 == sha256_tree(run / "checkpoint")
    loaded = json.loads(said[-1].replace("'", '"'))
    assert [name for name in loaded if name.startswith("dagster")] == ["dagster_pipes"]
    assert Path(said[-2]).is_relative_to(python.parents[1])


def test_it_evaluates(python, tmp_path):
    spec = EvaluationSpec(split="dev", tasks=2, samples=1, greedy=False, seed=0)
    site = next(python.parents[1].glob("lib/python*/site-packages"))
    embedded = next(site.glob("agent_evo_dagster/training/policy/**/model.safetensors")).parent
    run, _ = work(python, tmp_path / "evaluate", job="evaluate", evaluation=spec, checkpoint=embedded)
    assert (run / "evaluation.parquet").stat().st_size
