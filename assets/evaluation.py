"""The asset of evaluation: the policy before and after the round's training, on held-out tasks."""

import dagster as dg
import polars as pl

from agent_evo_dagster.evaluation.summary import difference, summarise
from agent_evo_dagster.training.config_sources import config_from_frame
from agent_evo_dagster.training.output import read_evaluation
from agent_evo_dagster.training.request import EvaluationSpec, WorkerRequest
from agent_evo_dagster.training.types import EVALUATION_SCHEMA
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Results, check, numbers, table
from assets.schema import schema_problems
from resources.rounds import RoundsResource
from resources.trainer import TrainerResource

# The seed of held-out sampling is one for all rounds, so that rounds are compared on the same draws.
EVALUATION_SEED = 20_000


@dg.asset(
    group_name="training",
    owners=[OWNER],
    kinds={"pytorch", "parquet"},
    partitions_def=EVOLUTION_ROUNDS,
    pool="training",
    deps=["checkpoint"],
    description="Held-out tasks of the report split, sampled and greedy, before and after training.",
    check_specs=[dg.AssetCheckSpec("evaluation_schema", asset="policy_evaluation", blocking=True)],
)
def policy_evaluation(
    context: dg.AssetExecutionContext,
    rounds: RoundsResource,
    trainer: TrainerResource,
    training_config: pl.DataFrame,
    training_run: pl.DataFrame,
) -> Results:
    """Run both policies on the tasks that no training and no judge sees."""
    manifest, config = rounds.manifest(context), config_from_frame(training_config)
    target = rounds.path("runs", manifest.key, "evaluate")
    request = WorkerRequest(
        job="evaluate",
        run_dir=target,
        config=config,
        init_checkpoint=trainer.starting_policy(rounds.path(), manifest.parent, config.model),
        checkpoint=rounds.path(training_run["run_dir"][0], "checkpoint"),
        evaluation=EvaluationSpec(
            split="report",
            tasks=config.evaluation_tasks,
            samples=config.evaluation_samples,
            greedy=True,
            seed=EVALUATION_SEED,
        ),
    )
    trainer.run(context, request)
    rows = read_evaluation(target)
    summary = summarise(rows)
    changes = difference(rows)
    yield dg.MaterializeResult(
        value=rows,
        metadata={
            **numbers({f"{policy}/{mode}/accuracy": mean for policy, mode, mean in _accuracy(summary)}),
            **numbers({f"{mode}/{measure}/difference": value for mode, measure, value in _changes(changes)}),
            "summary": table(summary, summary.columns),
            "before_and_after": table(changes, changes.columns),
        },
        check_results=[check("evaluation_schema", schema_problems(rows, EVALUATION_SCHEMA))],
    )


def _accuracy(summary: pl.DataFrame) -> list[tuple[str, str, float]]:
    return list(summary.select("policy", "mode", "accuracy").iter_rows())


def _changes(changes: pl.DataFrame) -> list[tuple[str, str, float]]:
    return list(changes.select("mode", "measure", "difference").iter_rows())
