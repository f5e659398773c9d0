"""Policies of a home on tasks and draws of their seed's own. Not the scores that the rounds stored.

The rounds score every seed on the same tasks with the same draws, so that their seeds differ in training
alone. Here each seed is an experiment of its own, in evaluation too.
"""

from pathlib import Path

from agent_evo_dagster.rounds.keys import round_key
from agent_evo_dagster.rounds.runs import train_dir
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.launch import run_worker, staged_run
from agent_evo_dagster.training.output import EVALUATION_FILE
from agent_evo_dagster.training.request import EvaluationSpec, WorkerRequest
from benchmarks.closed_loop_homes import Home, environment

# Far from the seed that the rounds score with; arms of one seed share theirs, so that they are paired.
FIRST_SEED = 30_000
TASKS, SAMPLES = 200, 2


def fresh_folder(home: Path) -> Path:
    """Where the scores lie: in the home, so that they go when it is made again."""
    return home / "fresh"


def score(home: Home, rounds: int) -> None:
    """Score the policies after round 1 and after the last, unless they are."""
    target = fresh_folder(home.path)
    if (target / EVALUATION_FILE).is_file():
        return
    first, last = (train_dir(home.path / "runs", round_key(number)) / "checkpoint" for number in (1, rounds))
    spec = EvaluationSpec(
        split="report", tasks=TASKS, samples=SAMPLES, greedy=False, seed=FIRST_SEED + home.seed
    )
    with staged_run(target) as staging:
        request = WorkerRequest(
            job="evaluate",
            run_dir=staging,
            config=TrainingConfig(),
            init_checkpoint=first,
            checkpoint=last,
            evaluation=spec,
        )
        run_worker(request, python=None, env=environment(home), heartbeat_timeout=300, time_limit=3600)
