"""The names of packages: kind, domain and name, and the folder that they stand for. Nothing is read."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from agent_evo_dagster.errors import SkillBankError

FOLDER = "packages"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,119}")
_DOMAIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class Kind(StrEnum):
    """What a package holds."""

    STABLE = "stable"  # the skills that every task starts from
    EXPERIMENTAL = "experimental"  # the skills that are tried for one domain
    VERTICAL = "vertical"  # the skills that proved themselves in one domain
    TASK = "task-package"  # a finished round, with what is needed to make it again
    LINEAGE = "lineage-archive"  # what a range of rounds saw, proposed and decided

    @property
    def folder(self) -> str:
        """Its folder below `packages/`."""
        return "task-packages" if self is Kind.TASK else self.value

    @property
    def has_domain(self) -> bool:
        """Whether its packages belong to a domain."""
        return self in (Kind.EXPERIMENTAL, Kind.VERTICAL)


@dataclass(frozen=True)
class PackageId:
    """A package: written `stable/v1`, `vertical/maths/v3` or `task-packages/round-0001`."""

    kind: Kind
    name: str
    domain: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise SkillBankError(
                f"package name {_shown(self.name)}: use lower-case letters, digits, '.', '_', '-'."
            )
        if self.kind.has_domain and self.domain is None:
            raise SkillBankError(f"a {self.kind} package belongs to a domain; give --domain D.")
        if not self.kind.has_domain and self.domain is not None:
            raise SkillBankError(f"a {self.kind} package has no domain; leave out {_shown(self.domain)}.")
        if self.domain is not None and not (_DOMAIN.fullmatch(self.domain) and len(self.domain) <= 64):
            raise SkillBankError(
                f"domain {_shown(self.domain)}: use up to 64 lower-case letters, digits and single hyphens."
            )

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind.folder, self.domain, self.name) if part is not None)

    @property
    def slot(self) -> str:
        """The slot of the registry that can make it current: `stable`, or `vertical/<domain>`.

        Raises:
            SkillBankError: packages of its kind are never current.
        """
        if self.kind is Kind.STABLE:
            return "stable"
        if self.kind is Kind.VERTICAL:
            return f"vertical/{self.domain}"
        raise SkillBankError(
            f"{self} cannot be current: only stable and vertical packages are. An experimental one is "
            f"promoted first: agent-evo skills packages promote {self}."
        )

    def path(self, bank: Path) -> Path:
        """Its folder in the bank at `bank`."""
        return bank / FOLDER / str(self)


def parse_id(text: str) -> PackageId:
    """The package that `text` names.

    Raises:
        SkillBankError: not a package's name; the message has the forms.
    """
    folder, *rest = text.split("/")
    kinds = {kind.folder: kind for kind in Kind}
    if folder not in kinds or len(rest) != 1 + kinds[folder].has_domain:
        raise SkillBankError(
            f"{_shown(text)} is not a package; write stable/NAME, experimental/DOMAIN/NAME, "
            f"vertical/DOMAIN/NAME, task-packages/NAME or lineage-archive/NAME. "
            f"See agent-evo skills packages list."
        )
    return PackageId(kinds[folder], rest[-1], rest[0] if len(rest) == 2 else None)


def promoted(tried: PackageId, name: str | None = None) -> PackageId:
    """The vertical package that an experimental one becomes, under its own name unless one is given.

    Raises:
        SkillBankError: it is of another kind.
    """
    if tried.kind is not Kind.EXPERIMENTAL:
        raise SkillBankError(
            f"{tried} is of the kind {tried.kind}; only an experimental package is promoted."
        )
    return PackageId(Kind.VERTICAL, name or tried.name, tried.domain)


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}... ({len(text)} characters)"
