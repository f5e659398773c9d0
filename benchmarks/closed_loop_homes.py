"""The homes of the closed loop: one arm and seed each, filled by the commands a person types. No figures."""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.files import sha256_file, write_atomic
from agent_evo_dagster.settings import ApprovalPolicy

PROJECT = Path(__file__).resolve().parents[1]
# What decides the figures: a home made by other code is not mixed with new ones.
CODE = ("agent_evo_dagster", "assets", "resources", "automation", "skill_bank", "samples")


@dataclass(frozen=True, slots=True)
class Arm:
    """What one arm adds to `agent-evo rounds run`, and who decides on its patches."""

    policy: ApprovalPolicy
    options: Sequence[str] = ()


ARMS: Mapping[str, Arm] = {
    "gated": Arm("auto"),
    "frozen": Arm("manual"),  # patches wait, so the skills stay as they are
    "zero": Arm("auto", options=("--set", "learning_rate=0")),
}


class Record(BaseModel):
    """What a home was made with; beside the home, so that a broken one is known too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arm: str
    seed: int
    rounds: int
    code: str
    seconds: float | None = None  # wall time of all commands; null until the last round is done


@dataclass(frozen=True, slots=True)
class Home:
    """The home of one arm and seed below `base`."""

    base: Path
    arm: str
    seed: int

    @property
    def path(self) -> Path:
        """The folder that AGENT_EVO_HOME names."""
        return self.base / f"{self.arm}-{self.seed}"

    @property
    def log(self) -> Path:
        """Everything that the commands wrote."""
        return self.base / f"{self.arm}-{self.seed}.log"

    @property
    def record(self) -> Path:
        """The file that says what the home was made with."""
        return self.base / f"{self.arm}-{self.seed}.json"


def fill(home: Home, rounds: int, code: str) -> float:
    """Run the rounds of a home unless it has them; wall seconds that they took.

    Raises:
        RoundError: a command failed, or the home was made by other code or by someone else.
    """
    known = _known(home, rounds, code)
    if known is not None and known.seconds is not None:
        return known.seconds
    shutil.rmtree(home.path, ignore_errors=True)  # begun by us and killed: from the start again
    record = Record(arm=home.arm, seed=home.seed, rounds=rounds, code=code)
    write_atomic(home.record, record.model_dump_json().encode())
    home.log.unlink(missing_ok=True)
    begun = time.monotonic()
    _run(home, "import", str(PROJECT / "samples"))
    options = ARMS[home.arm].options
    _run(home, "rounds", "run", "--count", str(rounds), "--seed", str(home.seed), *options)
    seconds = time.monotonic() - begun
    write_atomic(home.record, record.model_copy(update={"seconds": seconds}).model_dump_json().encode())
    return seconds


def code_hash(root: Path = PROJECT) -> str:
    """Hash over the files that decide the figures, by name, without caches."""
    digest = hashlib.sha256()
    files = (path for folder in CODE for path in (root / folder).rglob("*") if path.is_file())
    for path in sorted(path for path in files if "__pycache__" not in path.parts):
        digest.update(f"{path.relative_to(root).as_posix()}\0{sha256_file(path)}\n".encode())
    return digest.hexdigest()[:16]


def environment(home: Home) -> dict[str, str]:
    """This process's variables without settings of other homes; this checkout's code comes first."""
    ours = {name: text for name, text in os.environ.items() if not name.startswith("AGENT_EVO_")}
    ours.pop("DAGSTER_HOME", None)
    paths = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **ours,
        "PYTHONPATH": os.pathsep.join(paths),
        "AGENT_EVO_PROJECT": str(PROJECT),
        "AGENT_EVO_HOME": str(home.path),
        "AGENT_EVO_POLICY": ARMS[home.arm].policy,
    }


def _known(home: Home, rounds: int, code: str) -> Record | None:
    if not home.record.is_file():
        if home.path.exists():
            raise RoundError(f"{home.path} exists and is not of this benchmark. Name another --home.")
        return None
    record = Record.model_validate_json(home.record.read_bytes())
    if (record.code, record.rounds) != (code, rounds):
        raise RoundError(
            f"{home.path} holds {record.rounds} rounds of code {record.code}; asked for were {rounds} rounds "
            f"of code {code}. Figures of the two are not mixed: name another --home, or remove this one."
        )
    return record


def _run(home: Home, *words: str) -> None:
    """Run one `agent-evo` command of this checkout on the home."""
    command = [sys.executable, "-c", "from agent_evo_dagster.cli.main import main; main()", *words]
    with home.log.open("ab") as log:
        log.write(f"$ agent-evo {' '.join(words)}\n".encode())
        log.flush()
        code = subprocess.run(
            command, env=environment(home), cwd=PROJECT, stdout=log, stderr=log, check=False
        ).returncode
    if code:
        raise RoundError(f"agent-evo {' '.join(words)} ended with {code} in {home.path}. Read {home.log}.")
