"""The assets of training: the configuration that the skills decide, the run, and what the run left."""

import json
from pathlib import Path

import dagster as dg
import polars as pl

from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.rounds.configuration import round_config
from agent_evo_dagster.rounds.runs import train_dir
from agent_evo_dagster.training.config_sources import config_from_frame, to_frame
from agent_evo_dagster.training.metrics import METRICS_FILE, read_metrics
from agent_evo_dagster.training.output import read_inputs, read_rollouts
from agent_evo_dagster.training.request import WorkerRequest
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Metadata, Results, check, counts, numbers, table
from assets.schema import length_problems, schema_problems
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource
from resources.trainer import TrainerResource

GROUP = "training"
RUN_SCHEMA = pl.Schema(
    {
        "run_id": pl.String,
        "run_dir": pl.String,  # relative to the home
        "config_sha256": pl.String,
        "init_sha256": pl.String,
        "checkpoint_sha256": pl.String,
        "backend": pl.String,  # that trained, as the worker tells
        "steps": pl.Int64,
        "stopped_early": pl.String,
        "packages": pl.String,  # JSON text
    }
)


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"pydantic"},
    partitions_def=EVOLUTION_ROUNDS,
    deps=["skill_bank_source"],
    description="Every setting of the run with its value and where it came from: skill, request or override.",
)
def training_config(
    context: dg.AssetExecutionContext, rounds: RoundsResource, skill_bank: SkillBankResource
) -> dg.MaterializeResult[pl.DataFrame]:
    """Turn the skills' settings and the request of the round into one configuration."""
    manifest = rounds.manifest(context)
    resolved = round_config(manifest, skill_bank.read_by(manifest))
    if resolved.ignored:
        context.log.warning(f"Of the request nothing was made of: {resolved.ignored!r}")
    frame = to_frame(resolved)
    return dg.MaterializeResult(
        value=frame,
        metadata={
            **numbers(
                {"learning_rate": resolved.config.learning_rate, "max_steps": resolved.config.max_steps}
            ),
            "settings": table(frame, ["name", "value", "source", "origin", "why"], limit=100),
            "bank_hash": manifest.bank_hash,
            "not_understood": resolved.ignored or "every word of the request was understood",
        },
    )


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"pytorch", "huggingface"},
    partitions_def=EVOLUTION_ROUNDS,
    pool="training",
    description="One GRPO run in a process of its own, which reports its steps while it runs.",
)
def training_run(
    context: dg.AssetExecutionContext,
    rounds: RoundsResource,
    trainer: TrainerResource,
    training_config: pl.DataFrame,
) -> dg.MaterializeResult[pl.DataFrame]:
    """Train the policy of the round; the finished folder takes the place of an older one in one step."""
    manifest, config = rounds.manifest(context), config_from_frame(training_config)
    target = train_dir(rounds.path("runs"), manifest.key)
    start = trainer.starting_policy(rounds.path(), manifest.parent, config.model)
    request = WorkerRequest(
        job="train",
        run_dir=target,
        config=config,
        init_checkpoint=start,
    )
    result = trainer.run(context, request)
    digest = sha256_bytes(config.model_dump_json().encode())
    row = {
        "run_id": f"{manifest.key}-{digest[:8]}",
        "run_dir": rounds.relative(target),
        "config_sha256": digest,
        "init_sha256": result.init_sha256,
        "checkpoint_sha256": result.checkpoint_sha256,
        "backend": ", ".join(result.backends),
        "steps": result.steps,
        "stopped_early": result.stopped_early,
        "packages": json.dumps(result.packages, sort_keys=True),
    }
    return dg.MaterializeResult(
        value=pl.DataFrame([row], schema=RUN_SCHEMA),
        metadata={
            **numbers(
                {
                    "steps": result.steps,
                    "wall_seconds": result.wall_seconds,
                    "cpu_seconds": result.cpu_seconds,
                }
            ),
            **numbers({"peak_memory_bytes": result.peak_memory_bytes}),
            "backend": ", ".join(result.backends),
            "starts_from": _name(start, rounds.path()) or config.model,
            "stopped_early": result.stopped_early or "no: every step was made",
            "device": result.hardware.get("device", "not told"),
            "dtype": result.hardware.get("dtype", "not told"),
            "packages": dg.MetadataValue.json(result.packages),
            **_inputs(target),
            "run_dir": dg.MetadataValue.path(target),
        },
    )


def _inputs(run: Path) -> Metadata:
    """What the run was made from beside its settings: files by hash, rows of data by what became of them."""
    found = read_inputs(run)
    shown = table(found, found.columns) if found.height else dg.MetadataValue.text("settings alone")
    return {"inputs": shown}


def _name(policy: Path | None, home: Path) -> str | None:
    """A policy below the home by its folder in it; null for the embedded one and for those elsewhere."""
    return policy.relative_to(home).as_posix() if policy and policy.is_relative_to(home) else None


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"huggingface"},
    partitions_def=EVOLUTION_ROUNDS,
    description="The trained weights, as safetensors in the Hugging Face layout.",
)
def checkpoint(rounds: RoundsResource, training_run: pl.DataFrame) -> dg.MaterializeResult[pl.DataFrame]:
    """Point at the weights that the run left."""
    run = training_run.row(0, named=True)
    path = rounds.path(run["run_dir"], "checkpoint")
    files = sorted(item for item in path.iterdir() if item.is_file())
    rows = [{"path": rounds.relative(item), "bytes": item.stat().st_size} for item in files]
    frame = pl.DataFrame(rows, schema={"path": pl.String, "bytes": pl.Int64}).with_columns(
        sha256=pl.lit(run["checkpoint_sha256"])
    )
    return dg.MaterializeResult(
        value=frame,
        data_version=dg.DataVersion(run["checkpoint_sha256"]),
        metadata={
            **numbers({"total_bytes": int(frame["bytes"].sum())}),
            "sha256": run["checkpoint_sha256"],
            "folder": dg.MetadataValue.path(path),
        },
    )


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"polars", "parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    description="Every rollout of the run: token ids as sampled, log-probabilities, mask, reward.",
    check_specs=[
        dg.AssetCheckSpec("rollout_schema", asset="rollout_trajectories", blocking=True),
        dg.AssetCheckSpec("equal_lengths", asset="rollout_trajectories", blocking=True),
    ],
)
def rollout_trajectories(rounds: RoundsResource, training_run: pl.DataFrame) -> Results:
    """Read the rollouts that the run wrote."""
    rows = read_rollouts(rounds.path(training_run["run_dir"][0]))
    per_token = ["completion_ids", "logprobs", "response_mask"]
    yield dg.MaterializeResult(
        value=rows,
        metadata={
            **numbers({"rollouts": rows.height, "mean_reward": rows["reward"].mean()}),
            **numbers(
                {"policy_tokens": rows["response_mask"].list.sum().sum(), "mean_turns": rows["turns"].mean()}
            ),
            "finish": counts(rows, "finish"),
            "examples": table(rows.tail(8), ["step", "prompt", "text", "reward", "finish"]),
        },
        check_results=[
            check("rollout_schema", schema_problems(rows, ROLLOUT_SCHEMA)),
            check("equal_lengths", length_problems(rows, per_token)),
        ],
    )


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"polars", "parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    description="What TRL logged, one row per step and metric.",
    check_specs=[
        dg.AssetCheckSpec("no_nan", asset="training_metrics", description="All metrics are finite.")
    ],
)
def training_metrics(rounds: RoundsResource, training_run: pl.DataFrame) -> Results:
    """Read the metrics that the run wrote."""
    rows = read_metrics(rounds.path(training_run["run_dir"][0], METRICS_FILE))
    last = rows.filter(pl.col("step") == pl.col("step").max())
    wild = rows.filter(~pl.col("finite"))
    yield dg.MaterializeResult(
        value=rows,
        metadata={
            **numbers({f"last/{name}": value for name, value in last.select("name", "value").iter_rows()}),
            "rewards": table(rows.filter(pl.col("name") == "reward"), ["step", "value"], limit=500),
        },
        check_results=[
            check(
                "no_nan",
                [f"step {step}: {name}" for step, name in wild.select("step", "name").iter_rows()],
                warn=True,
            )
        ],
    )
