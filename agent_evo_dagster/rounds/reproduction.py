"""A frozen round trained again from its package alone, and compared byte for byte. It changes no package."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.errors import RoundError, SkillBankError
from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.rounds.packaging import RUN
from agent_evo_dagster.rounds.status import last_reward
from agent_evo_dagster.rounds.verification import TaskPackage
from agent_evo_dagster.skills.packages.frozen import read_package, verify_package
from agent_evo_dagster.training.launch import run_worker
from agent_evo_dagster.training.metrics import METRICS_FILE, read_metrics
from agent_evo_dagster.training.request import WorkerRequest

HEARTBEAT_TIMEOUT = 300.0  # seconds
TIME_LIMIT = 6 * 3600.0  # seconds

Change = tuple[str, str]  # then, now


@dataclass(frozen=True)
class Reproduction:
    """What training again came to."""

    run_dir: Path
    same: tuple[str, ...]  # files with the same bytes
    differing: tuple[str, ...]  # files with others, missing or new ones
    reward: tuple[float | None, float | None]  # of the last step, then and now
    packages: Mapping[str, Change]  # whose versions differ
    hardware: Mapping[str, Change]

    @property
    def identical(self) -> bool:
        """Whether every file has the same bytes."""
        return not self.differing

    @property
    def told(self) -> str:
        """The result in a sentence."""
        if self.identical:
            return f"all {len(self.same)} files of the run are the same, byte for byte"
        changes = {**self.packages, **self.hardware}
        why = "; ".join(f"{name}: {then} then, {now} now" for name, (then, now) in changes.items())
        return f"{len(self.differing)} files differ. " + (
            f"The environment is another one: {why}"
            if why
            else "Packages and hardware are the same: the code of this version computes something else"
        )


def reproduce(path: Path, into: Path, *, python: Path | None = None) -> Reproduction:
    """Train again with the frozen configuration, seed and starting policy, in the fresh folder `into`.

    Raises:
        SkillBankError: the package is damaged, or is not a task package.
        RoundError: `into` holds something.
        WorkerError: the training failed.
    """
    package = TaskPackage(path)
    about, problems = package.about, verify_package(path)
    if problems:
        raise SkillBankError(f"the package {path} was damaged: {problems[0]}; restore it.")
    if into.exists() and any(into.iterdir()):
        raise RoundError(f"A fresh folder is needed for the training, and {into} is not empty; name another.")
    request = WorkerRequest(job="train", run_dir=into, config=package.config, init_checkpoint=package.init)
    result = run_worker(request, python=python, heartbeat_timeout=HEARTBEAT_TIMEOUT, time_limit=TIME_LIMIT)
    same, differing = _compared(path, into)
    return Reproduction(
        run_dir=into,
        same=same,
        differing=differing,
        reward=(_reward(path / RUN), _reward(into)),
        packages=_changes(about.packages, result.packages),
        hardware=_changes(about.hardware, result.hardware),
    )


def _compared(path: Path, into: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files of the run that have the same bytes, and those that have not."""
    prefix = f"{RUN}/"
    held = read_package(path).files
    then = {name.removeprefix(prefix): sha for name, sha in held.items() if name.startswith(prefix)}
    names = {file.relative_to(into).as_posix() for file in (into / "checkpoint").rglob("*") if file.is_file()}
    now = {name: sha256_file(into / name) for name in then.keys() | names if (into / name).is_file()}
    every = sorted(then.keys() | now.keys())
    same = tuple(name for name in every if then.get(name) == now.get(name))
    return same, tuple(name for name in every if name not in same)


def _reward(run_dir: Path) -> float | None:
    return last_reward(read_metrics(run_dir / METRICS_FILE))


def _changes(then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, Change]:
    names = sorted(then.keys() | now.keys())
    return {
        name: (then.get(name, "none"), now.get(name, "none"))
        for name in names
        if then.get(name) != now.get(name)
    }
