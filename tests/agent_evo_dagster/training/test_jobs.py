import polars as pl
import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.training import jobs
from agent_evo_dagster.training.backends.foreign import ForeignTrained
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.output import read_inputs
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED, EMBEDDED_SHA256
from agent_evo_dagster.training.reporting import RunReporter
from agent_evo_dagster.training.request import EvaluationSpec, ProbeSpec, WorkerRequest
from agent_evo_dagster.training.types import EVALUATION_SCHEMA, ROLLOUT_SCHEMA

TINY = TrainingConfig(warmup_steps=0, max_steps=1, prompts_per_step=2, num_generations=2)
SPEC = EvaluationSpec(split="judge", tasks=4, samples=2, greedy=True, seed=0)


def request(job, run_dir, **fields):
    return WorkerRequest(
        **{"job": job, "run_dir": run_dir, "config": TINY, "init_checkpoint": None, **fields}
    )


def run(asked):
    jobs.check(asked)
    asked.run_dir.mkdir(exist_ok=True)
    with RunReporter(asked.run_dir, None).beating() as reporter:
        return jobs.run(asked, reporter)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"job": "evaluate"}, "needs `evaluation`"),
        ({"job": "evaluate", "evaluation": SPEC}, "needs `checkpoint`"),
        ({"job": "probe", "evaluation": SPEC}, "needs `probe`"),
        ({"job": "train", "init_checkpoint": "nowhere"}, "lacks config.json"),
        ({"job": "evaluate", "evaluation": SPEC, "checkpoint": "nowhere"}, "No policy can be loaded"),
    ],
)
def test_a_request_that_lacks_what_its_job_needs_is_refused(tmp_path, fields, message):
    with pytest.raises(TrainingError, match=message):
        jobs.check(request(**{"run_dir": tmp_path, **fields}))


def test_evaluate_compares_before_and_after(tmp_path, torch):
    outcome = run(request("evaluate", tmp_path, evaluation=SPEC, checkpoint=EMBEDDED))
    assert outcome.backends == ()
    frame = pl.read_parquet(tmp_path / "evaluation.parquet")
    assert frame.schema == EVALUATION_SCHEMA
    assert frame["policy"].to_list() == ["before"] * 12 + ["after"] * 12
    before, after = (frame.filter(policy=name).drop("policy") for name in ("before", "after"))
    assert before.equals(after)
    assert (outcome.init_sha256, outcome.checkpoint_sha256) == (EMBEDDED_SHA256, EMBEDDED_SHA256)


def test_a_probe_of_the_same_configuration_finds_no_difference(tmp_path, monkeypatch, torch):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    probe = ProbeSpec(candidate=TINY, seeds=(3, 4), steps=2)
    outcome = run(request("probe", tmp_path, evaluation=SPEC, probe=probe))
    assert outcome.backends == ("hf",)
    frame = pl.read_parquet(tmp_path / "evaluation.parquet")
    assert frame.height == 2 * 2 * 12
    assert set(frame["seed"]) == {3, 4}
    baseline, candidate = (frame.filter(policy=name).drop("policy") for name in ("baseline", "candidate"))
    assert baseline.equals(candidate)
    assert outcome.steps == 2
    assert not (tmp_path / "metrics.jsonl").exists()


def test_train_leaves_rollouts_metrics_and_a_checkpoint_and_nothing_half_done(tmp_path, monkeypatch, torch):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    outcome = run(request("train", tmp_path))
    assert outcome.backends == ("hf",)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint",
        "heartbeat.json",
        "metrics.jsonl",
        "rollouts.parquet",
        "timings.jsonl",
    ]
    assert outcome.checkpoint_sha256 == sha256_tree(tmp_path / "checkpoint") != outcome.init_sha256
    assert pl.read_parquet(tmp_path / "rollouts.parquet").height == 4


def test_what_another_trainer_read_is_filed_as_that_of_ours(tmp_path, monkeypatch):
    inputs = {"sha256": {"reward": "ab"}}
    made = ForeignTrained(1, ROLLOUT_SCHEMA.to_frame(), EMBEDDED, None, "verl", inputs)
    monkeypatch.setattr(jobs, "train_elsewhere", lambda *_: made)
    asked = TINY.model_copy(update={"backend": "verl", "num_iterations": 1})
    assert run(request("train", tmp_path, config=asked)).backends == ("verl",)
    assert read_inputs(tmp_path).rows() == [("sha256", "reward", "ab")]
