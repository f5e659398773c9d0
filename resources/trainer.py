"""The trainer as Dagster sees it: a process, or a Ray job, that reports through Pipes while it runs.

How the process is started, watched and ended is the library's (training.launch).
"""

import contextlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from agent_evo_dagster.rounds.runs import parent_checkpoint
from agent_evo_dagster.rounds.types import ParentCheckpoint
from agent_evo_dagster.training.deployment import Deployment, read_deployment
from agent_evo_dagster.training.launch import run_worker, staged_run
from agent_evo_dagster.training.policy.bases import base_policy
from agent_evo_dagster.training.request import WorkerRequest, WorkerResult
from agent_evo_dagster.training.worker_place import on_ray
from resources.ray_messages import launched, ray_messages

# What tells a person at a glance how a step went; the asset of metrics has them all.
SHOWN = (
    "reward",
    "reward_std",
    "rollout/accuracy",
    "loss",
    "kl",
    "entropy",
    "grad_norm",
    "completions/mean_length",
    "learning_rate",
)


class TrainerResource(dg.ConfigurableResource[Any]):
    """Runs training jobs where `deployment`, a file, says; times are in seconds.

    `python` is the interpreter of what the deployment names none for; null: this one.
    """

    python: str | None = None
    deployment: str | None = None
    heartbeat_timeout: float = 300.0
    time_limit: float = 6 * 3600.0

    def starting_policy(self, home: Path, parent: ParentCheckpoint | None, model: str) -> Path | None:
        """Folder of the policy that a round below `home` starts from; null is the embedded base.

        Raises:
            RoundError: the checkpoint that it goes on from is gone or changed.
            TrainingError: there is no base of that name.
        """
        going_on = parent_checkpoint(home / "runs", parent, model)
        python = Path(self.python) if self.python else None
        return going_on or base_policy(model, home / "models", python=python)

    def run(self, context: dg.AssetExecutionContext, request: WorkerRequest) -> WorkerResult:
        """Run one job; `request.run_dir` appears, or is replaced, only when the job is whole.

        Log lines and messages of the worker reach Dagster while it runs. The asset that calls this returns a
        `MaterializeResult`: a Pipes session asks for it.

        Raises:
            WorkerError: the worker failed; nothing is put in place.
            SettingsError: the file of the deployment cannot be used.
            TrainingError: another process is at work on the same folder.
        """
        deployment = read_deployment(Path(self.deployment)) if self.deployment else Deployment()
        default = Path(self.python) if self.python else None
        remote = on_ray(deployment, request.config.backend)
        with staged_run(request.run_dir) as staging:
            with _pipes_session(context, remote=remote) as session:
                result = run_worker(
                    request.model_copy(update={"run_dir": staging, "deployment": deployment}),
                    python=deployment.python.get(request.config.backend, default),
                    env=session.get_bootstrap_env_vars(),
                    heartbeat_timeout=self.heartbeat_timeout,
                    time_limit=self.time_limit,
                    on_poll=lambda beat: context.log.debug(f"worker: {beat.phase}, step {beat.step}"),
                    on_job=lambda job: session.report_launched(launched(job)),
                )
            steps = step_table(session.get_custom_messages())
        if steps:
            context.add_asset_metadata({"steps": steps})
        return result


@contextlib.contextmanager
def _pipes_session(context: dg.AssetExecutionContext, *, remote: bool) -> Iterator[dg.PipesSession]:
    """What the worker's Pipes speak to: files in a temporary folder, or the log of a Ray job."""
    injector = dg.PipesEnvContextInjector() if remote else dg.PipesTempFileContextInjector()
    reader = ray_messages() if remote else dg.PipesTempFileMessageReader()
    with contextlib.ExitStack() as stack:
        with warnings.catch_warnings():  # Pipes calls a property that Dagster itself marks as a preview
            warnings.simplefilter("ignore", dg.PreviewWarning)
            session = stack.enter_context(
                dg.open_pipes_session(
                    context=context.op_execution_context,  # it reads what the asset's context deprecates
                    context_injector=injector,
                    message_reader=reader,
                )
            )
        yield session


def step_table(messages: Sequence[Any]) -> dg.TableMetadataValue | None:
    """The messages of type `step` as a table of the metrics in SHOWN, one row each; null if there are none.

    A value that is not finite is shown as null: Dagster stores NaN in a form that readers of JSON refuse.
    """
    steps = [
        message for message in messages if isinstance(message, Mapping) and message.get("type") == "step"
    ]
    if not steps:
        return None
    names = [name for name in SHOWN if any(name in step["metrics"] for step in steps)]
    columns = [dg.TableColumn("phase"), dg.TableColumn("step", "int")]
    columns += [dg.TableColumn(name, "float") for name in names]
    records = [
        dg.TableRecord(
            {
                "phase": step["phase"],
                "step": step["step"],
                **{name: _finite(step["metrics"].get(name)) for name in names},
            }
        )
        for step in steps
    ]
    return dg.MetadataValue.table(records, schema=dg.TableSchema(columns))


def _finite(value: float | None) -> float | None:
    """Four digits, as a person reads it; the asset of metrics has the exact values."""
    return float(f"{value:.4g}") if value is not None and math.isfinite(value) else None
