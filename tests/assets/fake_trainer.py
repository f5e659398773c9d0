"""A trainer without a model: it writes the files of a run, which depend on the learning rate alone.

Its policy is one number, the mean reward, kept in the checkpoint. A step of training raises it by 300 times
the learning rate: 2e-5 learns slowly, 1e-4 learns well.
"""

import json
import os
import time
from pathlib import Path

import dagster as dg
import polars as pl

from agent_evo_dagster.errors import WorkerError
from agent_evo_dagster.files import sha256_bytes, sha256_tree, write_atomic
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.environments.problems import draw
from agent_evo_dagster.training.environments.types import Task
from agent_evo_dagster.training.launch import staged_run
from agent_evo_dagster.training.request import EvaluationSpec, ProbeSpec, WorkerRequest, WorkerResult
from agent_evo_dagster.training.types import EVALUATION_SCHEMA, ROLLOUT_SCHEMA
from resources.trainer import TrainerResource

BASE = 0.3
GAIN = 300.0


class FakeTrainer(TrainerResource):
    """`fails` names a job that fails; `broken_metric` gives one metric NaN; `slow` waits in the middle.

    `harmful` training unlearns what its probes promise; `stops` ends probes early; `lost` loses a score of
    theirs.
    """

    fails: str = ""
    broken_metric: bool = False
    slow: bool = False
    harmful: bool = False
    stops: bool = False
    lost: bool = False

    def run(self, context: dg.AssetExecutionContext, request: WorkerRequest) -> WorkerResult:
        with staged_run(request.run_dir) as staging:
            if self.fails == request.job:
                raise WorkerError(f"The training worker failed: {self.fails} was told to.")
            result = self._work(request, staging)
            write_atomic(staging / "result.json", result.model_dump_json().encode())
        return result

    def _work(self, request: WorkerRequest, folder: Path) -> WorkerResult:
        start, digest = level(request.init_checkpoint)
        trained = None
        if request.job == "train":
            trained = self._train(request.config, start, folder)
        elif request.job == "evaluate":
            assert request.evaluation and request.checkpoint
            sides = {"before": start, "after": level(request.checkpoint)[0]}
            seeds = (request.evaluation.seed,)
            rows = [row for seed in seeds for row in evaluation_rows(request.evaluation, sides, seed)]
            write_rows(rows, folder)
        else:
            assert request.evaluation and request.probe
            rows = probe_rows(request.evaluation, request.probe, request.config, start)
            rows[-1] |= {"reward": float("nan")} if self.lost else {}
            write_rows(rows[: len(rows) // 2] if self.stops else rows, folder)
        return WorkerResult(
            job=request.job,
            steps=request.config.max_steps,
            checkpoint_sha256=trained,
            init_sha256=digest,
            backends=request.backends,
            stopped_early="the time limit" if self.stops and request.job == "probe" else None,
            packages={"python": "3"},
            hardware={"machine": "any"},
            peak_memory_bytes=1,
            wall_seconds=time.monotonic() % 1,  # a clock: differs from run to run, as with a real worker
            cpu_seconds=1.0,
        )

    def _train(self, config: TrainingConfig, start: float, folder: Path) -> str:
        lines = [json.dumps({"step": n, "metrics": metrics(config, start, n)}) for n in steps_of(config)]
        if self.broken_metric:
            lines[-1] = json.dumps({"step": config.max_steps, "metrics": {"loss": None, "reward": 0.4}})
        (folder / "metrics.jsonl").write_text("\n".join(lines[: len(lines) // 2]) + "\n")
        if self.slow:  # whoever waits for this file kills the process now
            (folder.parent / "in-the-middle").write_text(str(os.getpid()))
            time.sleep(600)
        (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
        rollouts(config, start).write_parquet(folder / "rollouts.parquet")
        (folder / "checkpoint").mkdir()
        sign = -1 if self.harmful else 1
        (folder / "checkpoint" / "level.json").write_text(
            json.dumps(start + sign * gain(config) * config.max_steps)
        )
        return sha256_tree(folder / "checkpoint")


def level(checkpoint: Path | None) -> tuple[float, str]:
    """The mean reward of a policy, and the hash of its folder."""
    if checkpoint is None:
        return BASE, sha256_bytes(b"base")
    return json.loads((checkpoint / "level.json").read_text()), sha256_tree(checkpoint)


def gain(config: TrainingConfig) -> float:
    return GAIN * config.learning_rate


def steps_of(config: TrainingConfig) -> range:
    return range(1, config.max_steps + 1)


def metrics(config: TrainingConfig, start: float, step: int) -> dict[str, float]:
    return {
        "reward": start + gain(config) * (step - 1) + 0.002 * (-1) ** step,
        "reward_std": 0.3,
        "grad_norm": 0.5,
        "entropy": 0.5,
        "kl": 0.005,
        "loss": 0.1,
        "clip_ratio/region_mean": 0.05,
        "frac_reward_zero_std": 0.1,
        "completions/clipped_ratio": 0.0,
        "completions/mean_length": 30.0,
    }


def rollouts(config: TrainingConfig, start: float) -> pl.DataFrame:
    rows = []
    for step in steps_of(config):
        for group, task in enumerate(draw("train", 2, config.seed + step)):
            rewards = (start, start + 0.1)
            rows += [rollout(task, step, group, reward) for reward in rewards]
    return pl.DataFrame(rows, schema=ROLLOUT_SCHEMA)


def rollout(task: Task, step: int, group: int, reward: float) -> dict[str, object]:
    return {
        "step": step,
        "group": group,
        "task_id": task.task_id,
        "prompt": task.question,
        "answer": task.answer,
        "prompt_ids": [1, 2],
        "completion_ids": [3, 4, 5],
        "logprobs": [-0.5, 0.0, -0.5],
        "response_mask": [1, 0, 1],
        "text": f"The answer is {task.answer}",
        "reward": reward,
        "correct": reward > 0.5,
        "finish": "stop",
        "turns": 2,
        "tool_calls": 1,
        "tool_errors": 0,
        "policy_version": step - 1,
    }


def evaluation_rows(spec: EvaluationSpec, sides: dict[str, float], seed: int) -> list[dict[str, object]]:
    modes = [("sampled", spec.samples)] + [("greedy", 1)] * spec.greedy
    return [
        {
            "policy": policy,
            "seed": seed,
            "mode": mode,
            "task_id": task.task_id,
            "sample": sample,
            "reward": mean + 0.01 * (number % 3),  # tasks differ, the same on both sides
            "correct": (number % 10) / 10 < mean,
            "finish": "stop",
            "turns": 2,
            "tokens": 30,
        }
        for policy, mean in sides.items()
        for mode, samples in modes
        for number, task in enumerate(draw(spec.split, spec.tasks, spec.seed))
        for sample in range(samples)
    ]


def probe_rows(
    spec: EvaluationSpec, probe: ProbeSpec, baseline: TrainingConfig, start: float
) -> list[dict[str, object]]:
    sides = {
        "baseline": start + gain(baseline) * probe.steps,
        "candidate": start + gain(probe.candidate) * probe.steps,
    }
    return [row for seed in probe.seeds for row in evaluation_rows(spec, sides, seed)]


def write_rows(rows: list[dict[str, object]], folder: Path) -> None:
    pl.DataFrame(rows, schema=EVALUATION_SCHEMA).write_parquet(folder / "evaluation.parquet")
