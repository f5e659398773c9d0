"""The task package of a finished round: everything that is needed to look at it, or make it, again."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.files import sha256_bytes, sha256_file
from agent_evo_dagster.rounds.seeds import training_seed
from agent_evo_dagster.rounds.status import RoundStatus
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.frozen import INDEX, Content, Frozen, freeze, planned
from agent_evo_dagster.skills.packages.ids import Kind, PackageId
from agent_evo_dagster.skills.packages.registry import change_registry, freezing, with_package
from agent_evo_dagster.skills.packages.skills import frozen_skills
from agent_evo_dagster.training.output import ROLLOUTS_FILE
from agent_evo_dagster.training.request import WorkerResult

# Files of a finished training run that the same seed makes again, byte for byte.
RUN_FILES = ("checkpoint", "metrics.jsonl", ROLLOUTS_FILE)
RUN = "run"
INIT = "init"  # the policy that the run started from; absent: the embedded base
# Assets whose frames go into a package.
FRAMES = ("training_config", "policy_evaluation", "patch_decisions", "skill_versions", "analysis_report")


class Dataset(BaseModel):
    """What a round learnt from, by hash."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    training_tasks: int
    training_sha256: str = Field(
        description="Of step, group, id, question and answer of each task trained on."
    )
    held_out_tasks: int
    held_out_sha256: str = Field(description="Of the ids of the held-out tasks.")
    sessions_sha256: str = Field(description="Of the slices of the spool that the round took.")


class TaskAbout(BaseModel):
    """What `package.json` of a task package says under `about`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    round: str
    seed: int
    training_seed: int
    bank_hash: str
    skills: dict[str, str] = Field(description="SHA-256 of each SKILL.md as the round read it.")
    run_id: str
    init_sha256: str
    checkpoint_sha256: str | None
    dataset: Dataset
    packages: dict[str, str] = Field(description="Versions of what computed it.")
    hardware: dict[str, str] = Field(description="What decided how numbers were rounded.")


@dataclass(frozen=True)
class FinishedRound:
    """A round as it is frozen."""

    manifest: RoundManifest
    status: RoundStatus
    frames: Mapping[str, pl.DataFrame]  # of the assets in FRAMES, by name
    run_dir: Path
    init: Path | None  # the policy that it started from; None: the embedded base
    bank: SkillBank  # as the round read it


def freeze_round(
    bank: Path,
    finished: FinishedRound,
    *,
    name: str | None = None,
    dry_run: bool = False,
) -> Frozen:
    """Freeze a finished round in the bank at `bank`, and register it.

    A round may move on after it was frozen, as where a person decides on a patch later. What was frozen
    stays, and the new state is frozen beside it: `round-0001`, then `round-0001.2`, `round-0001.3`. A state
    that is frozen already, under any of these names, is not frozen again. With a `name` of its own there is
    one package of that name, or a refusal.

    Raises:
        SkillBankError: a package of this round was damaged, a file of the run is missing, or `name` is taken.
        RoundError: the run is not whole.
    """
    package = PackageId(Kind.TASK, name or finished.manifest.key)
    files, about = _files(finished), _about(finished).model_dump(mode="json")
    target = package.path(bank)
    if dry_run:
        return planned(target, files=files, about=about, next_free=name is None)
    with freezing(bank):
        frozen = freeze(target, files=files, about=about, next_free=name is None)
        held = PackageId(Kind.TASK, frozen.path.name)
        digest = sha256_file(frozen.path / INDEX)
        change_registry(bank, lambda registry: with_package(registry, held, digest, parent=None))
    return frozen


def dataset_of(manifest: RoundManifest, rollouts: Path, evaluation: pl.DataFrame) -> Dataset:
    """The data of a round, from its rollouts (ROLLOUT_SCHEMA) and its evaluation (EVALUATION_SCHEMA)."""
    columns = ["step", "group", "task_id", "prompt", "answer"]
    trained = pl.read_parquet(rollouts, columns=columns, memory_map=False).unique().sort(columns)
    held_out = sorted(set(evaluation["task_id"]))
    taken = [(part.file, part.start, part.end, part.sha256) for part in manifest.slices]
    return Dataset(
        training_tasks=trained["task_id"].n_unique(),
        training_sha256=_lines_hash(trained.select(columns).rows()),
        held_out_tasks=len(held_out),
        held_out_sha256=_lines_hash([(task,) for task in held_out]),
        sessions_sha256=_lines_hash(taken),
    )


def _files(finished: FinishedRound) -> Content:
    frames = finished.frames
    files: dict[str, Path | bytes] = {f"{RUN}/{name}": finished.run_dir / name for name in RUN_FILES}
    if finished.init is not None:
        files[INIT] = finished.init
    files |= frozen_skills(finished.bank).files
    return {
        **files,
        "manifest.json": (finished.manifest.model_dump_json(indent=2) + "\n").encode(),
        "status.json": (finished.status.model_dump_json(indent=2) + "\n").encode(),
        "config.json": frames["training_config"].write_json().encode(),
        "evaluation.json": frames["policy_evaluation"].write_json().encode(),
        "decisions.json": frames["patch_decisions"].write_json().encode(),
        "skills.json": frames["skill_versions"].write_json().encode(),
        "report.md": frames["analysis_report"]["markdown"][0].encode(),
    }


def _about(finished: FinishedRound) -> TaskAbout:
    manifest, result = finished.manifest, _result(finished)
    return TaskAbout(
        kind=Kind.TASK,
        round=manifest.key,
        seed=manifest.seed,
        training_seed=training_seed(manifest),
        bank_hash=manifest.bank_hash,
        skills=frozen_skills(finished.bank).hashes,
        run_id=finished.status.training.run_id,
        init_sha256=result.init_sha256,
        checkpoint_sha256=result.checkpoint_sha256,
        dataset=dataset_of(manifest, finished.run_dir / ROLLOUTS_FILE, finished.frames["policy_evaluation"]),
        packages=result.packages,
        hardware=result.hardware,
    )


def _result(finished: FinishedRound) -> WorkerResult:
    path = finished.run_dir / "result.json"
    try:
        return WorkerResult.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        key = finished.manifest.key
        raise RoundError(
            f"{key} is to be frozen, and its training is not whole: {path} cannot be read. Make it again: "
            f"agent-evo rounds run {key} --only training"
        ) from error


def _lines_hash(rows: Iterable[tuple[object, ...]]) -> str:
    return sha256_bytes("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode())
