"""The jobs of a worker: train, evaluate, probe. Each reads a request and writes below its run folder."""

import json
import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import polars as pl

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.files import sha256_bytes, sha256_tree, write_atomic
from agent_evo_dagster.training.backends.capabilities import refuse_unsupported
from agent_evo_dagster.training.backends.hf import train
from agent_evo_dagster.training.elsewhere import Beside, train_elsewhere
from agent_evo_dagster.training.engine_choice import evaluation_engines, training_engine
from agent_evo_dagster.training.environment_choice import environment_for
from agent_evo_dagster.training.evaluate import evaluate
from agent_evo_dagster.training.outcome import Outcome, versions, write_frame
from agent_evo_dagster.training.output import EVALUATION_FILE, INPUTS_FILE, ROLLOUTS_FILE
from agent_evo_dagster.training.own_files import own_hashes
from agent_evo_dagster.training.placement import placement
from agent_evo_dagster.training.policy.checkpoints import load_trainable, require_checkpoint, save_checkpoint
from agent_evo_dagster.training.reporting import RunReporter, Unfiled
from agent_evo_dagster.training.request import EvaluationSpec, ProbeSpec, WorkerRequest
from agent_evo_dagster.training.states import States

CHECKPOINT_FOLDER = "checkpoint"


def check(request: WorkerRequest) -> None:
    """Refuse a request that does not have what its job needs.

    Raises:
        TrainingError: says what is missing.
    """
    if request.job in ("evaluate", "probe") and request.evaluation is None:
        raise TrainingError(f"The job {request.job!r} needs `evaluation`: which held-out tasks to run.")
    if request.job == "evaluate" and request.checkpoint is None:
        raise TrainingError("The job 'evaluate' needs `checkpoint`: the trained policy.")
    if request.job == "probe" and request.probe is None:
        raise TrainingError("The job 'probe' needs `probe`: the candidate, its seeds and steps.")
    if request.config.lora_rank and request.deployment.inference == "vllm" and request.job != "evaluate":
        raise TrainingError(
            "lora_rank is above 0 and inference is vllm: a server cannot follow adapters while they are "
            "trained. Set inference to local, or lora_rank to 0."
        )
    for config in (request.config, *([request.probe.candidate] if request.probe else [])):
        refuse_unsupported(config)
    require_checkpoint(request.init_checkpoint)
    if request.checkpoint is not None:
        require_checkpoint(request.checkpoint)


def run(request: WorkerRequest, reporter: RunReporter) -> Outcome:
    """Do the job of a checked request."""
    if request.job == "train":
        return _train(request, reporter)
    assert request.evaluation is not None
    if request.job == "evaluate":
        return _evaluate(request, request.evaluation, reporter)
    assert request.probe is not None
    return _probe(request, request.evaluation, request.probe, reporter)


def _train(request: WorkerRequest, reporter: RunReporter) -> Outcome:
    if request.config.backend != "hf":
        return _train_elsewhere(request, reporter)
    reporter.phase("load")
    policy = load_trainable(request.init_checkpoint, request.config)
    states = States(request.run_dir, identity(request, policy.sha256))
    start = states.newest()
    done = start.step if start else 0
    phase = f"train (goes on after step {done})" if start else "train"
    reporter.phase(phase, done=done, steps=request.config.max_steps)
    with training_engine(request, policy, reporter.tick) as engine:
        environment = environment_for(request.config, engine, reporter.tick)
        _record(environment.inputs, request.run_dir)
        trained = train(policy, request.config, environment, reporter, engine, states=states, start=start)
    reporter.phase("save")
    write_frame(trained.rollouts, request.run_dir / ROLLOUTS_FILE)
    saved = save_checkpoint(trained.model, policy.tokenizer, request.run_dir / CHECKPOINT_FOLDER)
    states.clear()
    place = placement(request.config)
    return Outcome(trained.steps, policy.sha256, saved, (trained.backend,), trained.stopped_early, place)


def _record(inputs: Mapping[str, object], run_dir: Path) -> None:
    """File what was read beside the settings, where there is any."""
    if inputs:
        write_atomic(run_dir / INPUTS_FILE, json.dumps(inputs, indent=2).encode())


def _train_elsewhere(request: WorkerRequest, reporter: RunReporter) -> Outcome:
    reporter.phase(f"train with {request.config.backend}", done=0, steps=request.config.max_steps)
    trained = train_elsewhere(request, request.run_dir, reporter)
    _record(trained.inputs, request.run_dir)
    write_frame(trained.rollouts, request.run_dir / ROLLOUTS_FILE)
    saved = sha256_tree(trained.checkpoint)
    start = _sha256(request.init_checkpoint)
    return Outcome(trained.steps, start, saved, (trained.backend,), trained.stopped_early)


def identity(request: WorkerRequest, init_sha256: str) -> str:
    """Hash of all that decides a training: one that was killed goes on from its states alone."""
    decides = [request.config.model_dump_json(), request.deployment.model_dump_json(), init_sha256]
    decides += [json.dumps(own_hashes(request.config))]
    return sha256_bytes(json.dumps([*decides, versions()]).encode())


def _evaluate(request: WorkerRequest, spec: EvaluationSpec, reporter: RunReporter) -> Outcome:
    frames = []
    before, after = request.init_checkpoint, request.checkpoint
    reporter.phase("load")
    with closing(evaluation_engines(request, (before, after), reporter.tick)) as engines:
        for name, engine in zip(("before", "after"), engines, strict=True):
            reporter.phase(f"evaluate {name}")
            environment = environment_for(request.config, engine, reporter.tick)
            frames.append(evaluate(engine, environment, spec, name=name, seed=spec.seed, tick=reporter.tick))
    write_frame(pl.concat(frames), request.run_dir / EVALUATION_FILE)
    return Outcome(0, _sha256(before), _sha256(after), ())


def _probe(request: WorkerRequest, spec: EvaluationSpec, probe: ProbeSpec, reporter: RunReporter) -> Outcome:
    frames, backends = [], set[str]()
    for seed in probe.seeds:
        for name, config in (("baseline", request.config), ("candidate", probe.candidate)):
            reporter.phase(f"probe {name} seed {seed}", done=0, steps=probe.steps)
            arm = config.model_copy(update={"seed": seed, "max_steps": probe.steps})
            frame, backend = _arm(request.model_copy(update={"config": arm}), spec, name, reporter)
            frames.append(frame)
            backends.add(backend)
    write_frame(pl.concat(frames), request.run_dir / EVALUATION_FILE)
    return Outcome(probe.steps, _sha256(request.init_checkpoint), None, tuple(sorted(backends)))


def _arm(
    request: WorkerRequest, spec: EvaluationSpec, name: str, reporter: RunReporter
) -> tuple[pl.DataFrame, str]:
    """Train one arm and evaluate it: its rows, and the backend that trained it."""
    if request.config.backend != "hf":
        return _arm_elsewhere(request, spec, name, reporter)
    config = request.config
    policy = load_trainable(request.init_checkpoint, config)
    with training_engine(request, policy, reporter.tick) as engine:
        environment = environment_for(config, engine, reporter.tick)
        trained = train(policy, config, environment, Unfiled(reporter), engine)
        engine.update(trained.model)
        rows = evaluate(engine, environment, spec, name=name, seed=config.seed, tick=reporter.tick)
    return rows, trained.backend


def _arm_elsewhere(
    request: WorkerRequest, spec: EvaluationSpec, name: str, reporter: RunReporter
) -> tuple[pl.DataFrame, str]:
    folder, seed = request.run_dir / "arm", request.config.seed
    shutil.rmtree(folder, ignore_errors=True)
    trained = train_elsewhere(request, folder, Beside(folder, reporter))
    with closing(evaluation_engines(request, [trained.checkpoint], reporter.tick)) as engines:
        frames = [
            evaluate(
                engine, environment_for(request.config, engine, reporter.tick), spec,
                name=name, seed=seed, tick=reporter.tick,
            )
            for engine in engines
        ]  # fmt: skip
    shutil.rmtree(folder)
    return pl.concat(frames), trained.backend


def _sha256(folder: Path | None) -> str:
    return sha256_tree(require_checkpoint(folder))
