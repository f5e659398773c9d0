"""Round manifests on disk, each written once. Not how their content is chosen."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from pydantic import ValidationError

from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.rounds.keys import is_round_key, round_key, round_number
from agent_evo_dagster.rounds.status import RoundStatus
from agent_evo_dagster.rounds.types import RoundManifest, SliceRecord


class Frozen(msgspec.Struct, frozen=True):
    """A part of a manifest, without the models: those of ten thousand slices cost more than all else."""

    slices: list[FileSlice]
    opened_by: str = "person"


def to_slices(records: Iterable[SliceRecord]) -> list[FileSlice]:
    """The slices that a manifest records."""
    return [FileSlice(one.file, one.start, one.end, one.sha256, one.sessions) for one in records]


@dataclass(frozen=True, slots=True)
class RoundStore:
    """The manifests below `root`."""

    root: Path

    @property
    def lock(self) -> Path:
        """The file whose lock orders the opening of rounds."""
        return self.root / ".lock"

    def folder(self, key: str) -> Path:
        """Folder of one round."""
        round_number(key)
        return self.root / key

    def finished(self, key: str) -> bool:
        """Whether a round has come to its end at least once."""
        return (self.folder(key) / "status.json").is_file()

    def status(self, key: str) -> RoundStatus | None:
        """The status of a round that has come to its end; null where it has not.

        Raises:
            RoundError: the status cannot be read.
        """
        path = self.folder(key) / "status.json"
        if not path.is_file():
            return None
        try:
            return RoundStatus.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise RoundError(
                f"The status {path} of {key} cannot be read ({error.error_count()} errors). "
                f"Make it again: agent-evo rounds run {key} --only adopt"
            ) from error

    def keys(self) -> list[str]:
        """Keys of all rounds, by number."""
        found = [path.parent.name for path in self.root.glob("round-*/manifest.json")]
        return sorted(filter(is_round_key, found), key=round_number)

    def all(self) -> list[RoundManifest]:
        """Manifests of all rounds, by number."""
        return [self.load(key) for key in self.keys()]

    def frozen(self, key: str) -> Frozen:
        """What a sensor needs of a manifest at each look, read as it is needed there.

        Raises:
            RoundError: the manifest cannot be read.
        """
        try:
            return msgspec.json.decode((self.folder(key) / "manifest.json").read_bytes(), type=Frozen)
        except (OSError, msgspec.MsgspecError):
            whole = self.load(key)  # says what is wrong
            return Frozen(to_slices(whole.slices), whole.opened_by)

    def next_key(self) -> str:
        """The key after the highest one."""
        keys = self.keys()
        return round_key(round_number(keys[-1]) + 1 if keys else 1)

    def load(self, key: str) -> RoundManifest:
        """The manifest of an open round.

        Raises:
            RoundError: a malformed or unknown key, or a manifest that cannot be read.
        """
        path = self.folder(key) / "manifest.json"
        if not path.is_file():
            known = self.keys()
            listed = f"Open rounds: {', '.join(known[-8:])}." if known else "No round is open yet."
            raise RoundError(
                f"Round {key} was asked for and is not open. {listed} Open one: agent-evo rounds open"
            )
        try:
            return RoundManifest.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise RoundError(f"The manifest {path} of {key} cannot be read: {error}") from error

    def save(self, manifest: RoundManifest) -> Path:
        """Write the manifest of a new round; the caller holds the lock.

        Raises:
            RoundError: the round is open already.
        """
        path = self.folder(manifest.key) / "manifest.json"
        if path.exists():
            raise RoundError(f"{manifest.key} is open already; its input is frozen in {path}.")
        write_atomic(path, manifest.model_dump_json(indent=2).encode() + b"\n")
        return path

    def earlier(self, key: str) -> list[RoundManifest]:
        """Manifests of the rounds before `key`, by number."""
        number = round_number(key)
        return [manifest for manifest in self.all() if manifest.number < number]
