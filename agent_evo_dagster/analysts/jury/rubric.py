"""What texts are compared by, and comparisons whose outcome is known: typed. The words are in YAML files."""

from importlib import resources
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.errors import AnalystError
from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.strict_yaml import read_mapping

_DIGITS = 12  # of the hash that a version is told with


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Criterion(_Data):
    """One question about two texts."""

    name: str = Field(pattern=r"^[a-z]{1,20}$")
    asks: str
    guard: bool = Field(description="Whether nothing may be worse on it, whatever the rest says.")


class _Rubric(_Data):
    version: int = Field(ge=1)
    criteria: tuple[Criterion, ...] = Field(min_length=1, max_length=10)


class Rubric(_Rubric):
    """All criteria; `told` is the version that evidence shows: the number, and a hash of the words."""

    told: str

    @property
    def names(self) -> tuple[str, ...]:
        """The criteria by name."""
        return tuple(one.name for one in self.criteria)

    @property
    def guards(self) -> frozenset[str]:
        """Those on which nothing may be worse."""
        return frozenset(one.name for one in self.criteria if one.guard)


class Known(_Data):
    """Two texts of which one is known to be better."""

    name: str
    kind: Literal["good", "bad", "stress"]
    before: str
    after: str


class _Knowns(_Data):
    knowns: tuple[Known, ...] = Field(min_length=1)


_D = TypeVar("_D", bound=_Data)


def shipped_rubric() -> Rubric:
    """The rubric of the package.

    Raises:
        AnalystError: its file is damaged.
    """
    path = _here("rubric.yaml")
    read = _read(path, _Rubric)
    told = f"{read.version}-{sha256_file(path)[:_DIGITS]}"
    return Rubric(version=read.version, criteria=read.criteria, told=told)


def shipped_knowns() -> tuple[Known, ...]:
    """The comparisons of the self-test.

    Raises:
        AnalystError: their file is damaged.
    """
    return _read(_here("knowns.yaml"), _Knowns).knowns


def _here(name: str) -> Path:
    return Path(str(resources.files("agent_evo_dagster.analysts.jury").joinpath(name)))


def _read(path: Path, kind: type[_D]) -> _D:
    try:
        return kind.model_validate(read_mapping(path, error=AnalystError))
    except ValidationError as error:
        raise AnalystError(f"{path} is damaged ({error}). Install agent-evo-dagster again.") from error
