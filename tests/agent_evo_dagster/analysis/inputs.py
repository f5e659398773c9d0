"""The inputs of a whole report, small."""

from dataclasses import replace

import polars as pl

from agent_evo_dagster.analysis.report import ReportInputs
from agent_evo_dagster.analysis.sessions import find_in_sessions
from agent_evo_dagster.analysis.training import find_in_training
from agent_evo_dagster.analysis.views.costs import CostLine
from agent_evo_dagster.analysis.views.policy import trend_rows
from agent_evo_dagster.analysis.views.training import training_rows
from tests.agent_evo_dagster.analysis.builders import (
    START,
    call,
    coverage_frame,
    evaluation_frame,
    life_frame,
    metric_frame,
    patch_frames,
    rollout_frame,
    segment_frame,
    step_frame,
)


def small_inputs(**fields: object) -> ReportInputs:
    """A round with two sessions, a slow run, one approved patch, and a round before it; `fields` replace."""
    failing = call("Bash", {"command": "make run"}, "failure", error="Exit code 2\nmake: *** [run] Error 2")
    steps = step_frame(
        [failing, failing, call("Bash", {"command": "make run -k"}), call("Read", {"file_path": "/a"})]
    )
    segments = segment_frame(steps)
    metrics = metric_frame(
        {"reward": [0.22, 0.2, 0.24, 0.23, 0.22, 0.25], "grad_norm": [0.8] * 6, "loss": [0.1] * 6}
    )
    rollouts = rollout_frame([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    evaluation = evaluation_frame({"before": [True] * 8 + [False] * 32, "after": [True] * 24 + [False] * 16})
    made = ReportInputs(
        round_key="round-0002",
        number=2,
        parent="round-0001",
        opened_at=START,
        request="train the calculator agent",
        seed=7,
        policy="auto",
        steps=steps,
        segments=segments,
        quarantine=pl.DataFrame({"reason": ["not JSON"]}),
        coverage=coverage_frame((True, 5, 1, 2, 1), (False, 0, 4, 0, 0)),
        session_findings=find_in_sessions(steps, segments),
        training_findings=find_in_training(metrics, rollouts, evaluation, {"learning_rate": 2e-5}),
        metrics=metrics,
        rollouts=rollouts,
        evaluation=evaluation,
        **patch_frames(),
        replays=pl.DataFrame(),
        rollbacks=pl.DataFrame(),
        life=life_frame("approve", "adopt"),
        trend=trend_rows("round-0001", 1, evaluation),
        training_trend=training_rows("round-0001", metrics),
        settings=pl.DataFrame(
            {
                "name": ["learning_rate", "loss_type"],
                "value": ["2e-05", '"dapo"'],
                "source": ["skill", "default"],
                "origin": ["rllm-config/optimisation", "training defaults"],
            }
        ),
        compiled=pl.DataFrame({"name": ["rllm-config"], "sha256": ["a" * 64]}),
        checkpoints={"after": "b" * 64},
        costs=(CostLine("training", {"rollout": 1280, "tokens": 34447}),),
    )
    return replace(made, **fields)
