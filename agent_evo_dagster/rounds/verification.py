"""Whether a task package is what it was frozen as, and holds together: every hash, and what they are of."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from agent_evo_dagster.errors import AgentEvoError, SkillBankError
from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.rounds.configuration import round_config
from agent_evo_dagster.rounds.packaging import INIT, RUN, TaskAbout, dataset_of
from agent_evo_dagster.rounds.seeds import training_seed
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.packages.frozen import read_package, verify_package
from agent_evo_dagster.skills.packages.skills import bank_in, compile_problems
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.config_sources import config_from_frame
from agent_evo_dagster.training.output import ROLLOUTS_FILE
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED_SHA256


@dataclass(frozen=True)
class Verified:
    """One thing that was checked."""

    what: str
    problem: str = ""  # empty: it holds


@dataclass(frozen=True)
class TaskPackage:
    """A task package on disk, its parts read when asked for."""

    path: Path

    @functools.cached_property
    def about(self) -> TaskAbout:
        """What it says of itself.

        Raises:
            SkillBankError: it is not a task package.
        """
        try:
            return TaskAbout.model_validate(read_package(self.path).about)
        except ValidationError as error:
            found = error.errors()[0]
            raise SkillBankError(
                f"{self.path} is not a task package of this version: "
                f"{'.'.join(map(str, found['loc']))}: {found['msg']}. See agent-evo task-package list."
            ) from error

    @functools.cached_property
    def manifest(self) -> RoundManifest:
        """The manifest of the round."""
        return RoundManifest.model_validate_json((self.path / "manifest.json").read_bytes())

    @functools.cached_property
    def config(self) -> TrainingConfig:
        """The configuration that the round trained with."""
        frame = pl.read_json(self.path / "config.json", schema={"name": pl.String, "value": pl.String})
        return config_from_frame(frame)

    @property
    def init(self) -> Path | None:
        """The policy that it started from; None: the embedded base."""
        folder = self.path / INIT
        return folder if folder.is_dir() else None


def verify_task(path: Path) -> tuple[Verified, ...]:
    """Check the package at `path`; where files were changed, nothing is read from them.

    Raises:
        SkillBankError: it is not a task package.
    """
    package = TaskPackage(path)
    about = package.about
    changed = verify_package(path)
    files = Verified("files: every hash", "; ".join(changed))
    if changed:
        return (files,)
    return (
        files,
        _check("checkpoint", lambda: _checkpoint(package)),
        _check("model that it started from", lambda: _start(package)),
        _check("dataset", lambda: _dataset(package)),
        _check("skills", lambda: _skills(package)),
        _check("configuration, from the frozen skills and seed", lambda: _config(package)),
        Verified(
            "environment", "" if about.packages and about.hardware else "hardware or versions are missing"
        ),
    )


def _check(what: str, check: Callable[[], str]) -> Verified:
    """The result of one check; a part that cannot be read is a problem of that part."""
    try:
        return Verified(what, check())
    except (AgentEvoError, ValidationError, OSError, pl.exceptions.PolarsError) as error:
        return Verified(what, str(error))


def _checkpoint(package: TaskPackage) -> str:
    found = sha256_tree(package.path / RUN / "checkpoint")
    wanted = package.about.checkpoint_sha256
    return "" if found == wanted else f"it has {found[:12]}, the round made {str(wanted)[:12]}"


def _start(package: TaskPackage) -> str:
    found = EMBEDDED_SHA256 if package.init is None else sha256_tree(package.init)
    wanted = package.about.init_sha256
    which = "the embedded model of this version" if package.init is None else INIT
    return "" if found == wanted else f"{which} has {found[:12]}, the round started from {wanted[:12]}"


def _dataset(package: TaskPackage) -> str:
    evaluation = pl.read_json(package.path / "evaluation.json", schema={"task_id": pl.String})
    found = dataset_of(package.manifest, package.path / RUN / ROLLOUTS_FILE, evaluation)
    return (
        "" if found == package.about.dataset else f"it is {found}, the package says {package.about.dataset}"
    )


def _skills(package: TaskPackage) -> str:
    found = bank_in(package.path).content_hash()
    wanted = package.about.bank_hash
    if found != wanted:
        return f"the bank has {found[:12]}, the round read {wanted[:12]}"
    return "; ".join(compile_problems(package.path))


def _config(package: TaskPackage) -> str:
    if training_seed(package.manifest) != package.about.training_seed:
        return f"the seed is {training_seed(package.manifest)} today, was {package.about.training_seed}"
    today = round_config(package.manifest, bank_in(package.path)).config
    differing = [
        f"{name} is {getattr(today, name)!r} today, was {getattr(package.config, name)!r}"
        for name in TrainingConfig.model_fields
        if getattr(today, name) != getattr(package.config, name)
    ]
    return "; ".join(differing)
