"""The skill bank on disk: opened, read, hashed, copied. Compiling and adopting have modules of their own."""

import functools
import itertools
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.errors import SkillBankError, UnknownSkillError
from agent_evo_dagster.files import locked, sha256_bytes, write_atomic
from agent_evo_dagster.patches.decisions import LEDGER_NAME
from agent_evo_dagster.patches.document import parse_patch
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.agent_skill import check_name
from agent_evo_dagster.skills.apply import Patched, apply_patches
from agent_evo_dagster.skills.journal import LOCK, recover
from agent_evo_dagster.skills.manifest import BankFile, Manifest, parse_bank_file, parse_manifest
from agent_evo_dagster.skills.outputs import check_output
from agent_evo_dagster.skills.rules import check_patches, check_statuses
from agent_evo_dagster.skills.sections import parse_document
from agent_evo_dagster.skills.types import SkillRef, SkillSource

MAX_FILE_BYTES = 1024 * 1024


@dataclass(frozen=True)
class SkillBank:
    """One bank, as its `bank.yaml` was when it was opened; everything else is read when asked for."""

    path: Path
    file: BankFile

    @classmethod
    def open(cls, path: Path) -> "SkillBank":
        """Open the bank in folder `path`, and finish a write that was interrupted.

        Raises:
            SkillBankError: there is none, or its `bank.yaml` cannot be used.
        """
        path = path.expanduser().resolve()
        if not (path / "bank.yaml").is_file():
            raise SkillBankError(
                f"no skill bank at {path}: bank.yaml is missing. Set AGENT_EVO_BANK to a bank's folder; "
                f"opening a round (agent-evo rounds open) makes one from the shipped template."
            )
        recover(path)
        origin = f"{path.name}/bank.yaml"
        file = parse_bank_file(read_text(path / "bank.yaml", origin), origin=origin)
        _check_bank(file, origin)
        return cls(path, file)

    @property
    def project(self) -> Path:
        """The folder that holds the bank: outputs are relative to it."""
        return self.path.parent

    def skills(self) -> list[SkillRef]:
        """All skills, in the order of `bank.yaml`."""
        return [
            SkillRef(group, name, skill.output)
            for group, members in self.file.groups.items()
            for name, skill in members.skills.items()
        ]

    def ref(self, skill: str) -> SkillRef:
        """The skill called `skill`.

        Raises:
            UnknownSkillError: the bank has none of that name.
        """
        if skill not in self._by_name:
            names = ", ".join(self._by_name)
            raise UnknownSkillError(f"no skill {skill!r} in {self.path / 'bank.yaml'}; it has: {names}.")
        return self._by_name[skill]

    @functools.cached_property
    def _by_name(self) -> Mapping[str, SkillRef]:
        """All skills by name."""
        return {ref.name: ref for ref in self.skills()}

    def is_target(self, group: str) -> bool:
        """Whether rounds may optimise the skills of `group`."""
        said = self.file.groups[group].optimization_target
        return group == "rllm" if said is None else said

    def targets(self) -> list[SkillRef]:
        """The skills that rounds may optimise, in the order of `bank.yaml`."""
        return [ref for ref in self.skills() if self.is_target(ref.group)]

    def require_target(self, skill: str, what: str) -> None:
        """Refuse `what` where rounds may not optimise the skill.

        Raises:
            UnknownSkillError: the bank has none of that name.
            SkillBankError: its group is not an optimisation target.
        """
        group = self.ref(skill).group
        if not self.is_target(group):
            raise SkillBankError(
                f"{what}: group {group!r} of {skill} is not an optimisation target and takes no patches; "
                f"change its base.md by hand, or set `optimization_target: true` for it in bank.yaml."
            )

    def relative(self, ref: SkillRef, name: str) -> str:
        """A file of the skill, relative to the bank."""
        return f"{ref.group}/{ref.name}/{name}"

    def read(self, relative: str) -> str:
        """The text of one file of the bank.

        Raises:
            SkillBankError: missing, too large, or not UTF-8.
        """
        return read_text(self.path / relative, f"{self.path.name}/{relative}")

    def manifest(self, ref: SkillRef) -> Manifest:
        """The manifest of a skill."""
        relative = self.relative(ref, "manifest.yaml")
        return parse_manifest(self.read(relative), origin=f"{self.path.name}/{relative}")

    def patch(self, ref: SkillRef, name: str) -> Patch | None:
        """The patch `name` of a skill, whatever its status; None where there is no such file."""
        relative = self.relative(ref, f"patches/{name}.md")
        origin = f"{self.path.name}/{relative}"
        if "/" in name or not (self.path / relative).is_file():
            return None
        patch = parse_patch(self.read(relative), origin=origin)
        if patch.id != name:
            raise SkillBankError(f"{origin}: the patch's id is {patch.id}; name the file {patch.id}.md.")
        return patch

    def source(self, skill: str, *, profile: str | None = None) -> SkillSource:
        """Everything that the compiled skill is made from.

        Raises:
            SkillBankError: a file is missing or not well formed, or there is no such profile.
        """
        ref = self.ref(skill)
        return self.source_of(
            ref, self.read(self.relative(ref, "base.md")), self.manifest(ref), profile=profile
        )

    def source_of(
        self, ref: SkillRef, base: str, manifest: Manifest, *, profile: str | None = None
    ) -> SkillSource:
        """What the compiled skill would be made from with this base and manifest.

        Raises:
            SkillBankError: the base is not well formed, or a patch file is missing or not well formed.
        """
        origin = f"{self.path.name}/{self.relative(ref, 'base.md')}"
        hidden = first_hidden(base)
        if hidden is not None:
            raise SkillBankError(f"{origin}, {hidden}: a hidden character; remove it.")
        if profile is not None and profile not in manifest.profiles:
            known = ", ".join(manifest.profiles) or "none"
            raise SkillBankError(f"skill {ref.name!r} has no profile {profile!r}; it has: {known}.")
        patches = []
        for name in manifest.listed(profile):
            patch = self.patch(ref, name)
            if patch is None:
                raise SkillBankError(
                    f"{origin}: manifest.yaml lists patch {name!r}, but there is no patches/{name}.md; "
                    f"put the file back or take the id out."
                )
            patches.append(patch)
        return SkillSource(ref, parse_document(base, origin=origin), manifest, tuple(patches), origin)

    def active(self) -> Mapping[str, Patch]:
        """All patches that are part of any skill of the bank, by id: active ones, and archived in a base."""
        return self.active_in({})

    def active_in(self, sources: Mapping[str, SkillSource]) -> Mapping[str, Patch]:
        """The same, where the skills named in `sources` are as given there."""
        found: dict[str, Patch] = {}
        for ref in self.skills():
            source = sources[ref.name] if ref.name in sources else self.source(ref.name)
            archived = (self.patch(ref, name) for name in source.manifest.archived)
            found.update({patch.id: patch for patch in (*source.patches, *archived) if patch is not None})
        return found

    def patched(self, skill: str) -> Patched:
        """The skill's document with its active patches applied, after all checks of the bank's rules."""
        source = self.source(skill)
        check_statuses(source)
        check_patches(source, source.patches, self.active)
        return apply_patches(source.document, source.patches, origin=source.origin)

    def sections(self, skill: str) -> dict[str, str]:
        """The text of every section of a skill, after its active patches."""
        return dict(self.patched(skill).sections)

    def section(self, skill: str, section: str) -> str:
        """The text of one section, after the active patches.

        Raises:
            SkillBankError: the skill has no such section.
        """
        sections = self.sections(skill)
        if section not in sections:
            raise SkillBankError(
                f"skill {skill!r} has no section {section!r}; it has: {', '.join(sections) or 'none'}."
            )
        return sections[section]

    def content(self) -> dict[str, bytes]:
        """The files that decide what is compiled, by their path in the bank."""
        names = ["bank.yaml"]
        for ref in self.skills():
            manifest = self.manifest(ref)
            listed = [manifest.listed(profile) for profile in (None, *manifest.profiles)]
            active = dict.fromkeys((*itertools.chain(*listed), *manifest.archived))
            names += [self.relative(ref, name) for name in ("base.md", "manifest.yaml")]
            names += [self.relative(ref, f"patches/{name}.md") for name in active]
        return {name: self.read(name).encode() for name in names}

    def content_hash(self) -> str:
        """Hex SHA-256 of `content`: the version of the bank."""
        return _hash(self.content())


def create_bank(template: Path, target: Path, *, more: Mapping[str, bytes] = {}) -> SkillBank:
    """A new bank at `target` with the content of the one at `template`; there in one step, or not at all.

    Where the template has a record of decisions, it comes along: the patches in the bank stand on it. So do
    the files `more`, by path.

    Raises:
        SkillBankError: `target` exists.
    """
    source = SkillBank.open(template)
    content, record = source.content(), source.path / LEDGER_NAME
    if record.is_file():
        content[LEDGER_NAME] = record.read_bytes()
    return found_bank({**content, **more}, target)


def found_bank(
    content: Mapping[str, bytes], target: Path, *, check: Callable[[SkillBank], None] | None = None
) -> SkillBank:
    """A new bank at `target` with `content`, by path; there in one step, or not at all.

    `check` sees the bank before it is there, and raises where it must not be.

    Raises:
        SkillBankError: `target` exists, or `check` refused.
    """
    target = target.expanduser().absolute()
    if target.exists():
        raise SkillBankError(f"{target} exists; open it, or choose another folder for the new bank.")
    if not _place(content, target, check=check):
        raise SkillBankError(f"{target} was made by another process meanwhile; open it.")
    return SkillBank.open(target)


def snapshot(bank: SkillBank, store: Path) -> str:
    """Keep the bank's content under its hash in `store`, once; returns the hash."""
    with locked(bank.path / LOCK):
        content = SkillBank(bank.path, bank.file).content()
    digest = _hash(content)
    if not (store / digest).exists():
        _place(content, store / digest)
    kept = SkillBank.open(store / digest).content_hash()
    if kept != digest:
        raise SkillBankError(
            f"{store / digest} was changed since it was kept: it is {kept[:12]} now. Delete it and try again."
        )
    return digest


def _place(
    content: Mapping[str, bytes], target: Path, *, check: Callable[[SkillBank], None] | None = None
) -> bool:
    """Make folder `target` with `content` in one step; False where another process was faster."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        staged.chmod(0o755)
        for name, data in content.items():
            write_atomic(staged / name, data)
        if check is not None:
            check(SkillBank.open(staged))
        staged.rename(target)
    except OSError:
        if not target.exists():
            raise
        return False
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return True


def _hash(content: Mapping[str, bytes]) -> str:
    """One hash over names and bytes."""
    lines = [f"{name}\0{sha256_bytes(data)}\n" for name, data in sorted(content.items())]
    return sha256_bytes("".join(lines).encode())


def read_text(path: Path, origin: str) -> str:
    """The text of one file of a bank, or for one; line ends as they are.

    Raises:
        SkillBankError: missing, too large, or not UTF-8.
    """
    try:
        if path.exists() and not path.is_file():
            raise SkillBankError(f"{origin}: {path} is no regular file.")
        data = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise SkillBankError(f"{origin}: there is no such file ({path}); put it back from git.") from error
    if len(data) > MAX_FILE_BYTES:
        raise SkillBankError(f"{origin}: {len(data)} bytes; a file of a bank has at most {MAX_FILE_BYTES}.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SkillBankError(f"{origin}, line {line}: not UTF-8; save the file as UTF-8.") from error


def _check_bank(file: BankFile, origin: str) -> None:
    """Names and outputs that are safe, and each used once."""
    names: set[str] = set()
    outputs: set[str] = set()
    for group, members in file.groups.items():
        check_name(group, what=f"{origin}: group")
        for name, skill in members.skills.items():
            check_name(name, what=f"{origin}: skill")
            check_output(skill.output, skill=name, origin=origin)
            if name in names or skill.output in outputs:
                raise SkillBankError(f"{origin}: skill {name!r} or its output is listed twice; rename one.")
            names.add(name)
            outputs.add(skill.output)
