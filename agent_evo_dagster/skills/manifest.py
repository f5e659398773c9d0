"""The YAML files of a bank: `bank.yaml` and each skill's `manifest.yaml`, typed, and edited in place."""

from collections.abc import Mapping
from typing import Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.powers import PowerKind
from agent_evo_dagster.strict_yaml import load_mapping

_Model = TypeVar("_Model", bound=BaseModel)


class Profile(BaseModel):
    """A named alternative to the list of active patches."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str = ""
    active: tuple[str, ...] | None = Field(None, description="Patch ids in order; left out: the skill's own.")
    disabled: tuple[str, ...] = Field((), description="Patch ids that are left out as well.")


class Manifest(BaseModel):
    """Which patches make up a skill, and in which order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: Literal["base.md"] = "base.md"
    active: tuple[str, ...] = Field((), description="Patch ids in the order of application.")
    disabled: tuple[str, ...] = Field((), description="Patch ids that are left out, even where active.")
    archived: tuple[str, ...] = Field((), description="Patch ids whose text a squash made part of base.md.")
    protected: tuple[str, ...] = Field((), description="Sections that no patch may touch.")
    allow: tuple[PowerKind, ...] = Field((), description="What patches may bring in that the base lacks.")
    front_matter: Literal["normalised", "as-is"] = Field(
        "normalised", description="Whether the description becomes one quoted line, or stays as written."
    )
    profiles: dict[str, Profile] = Field(default_factory=dict)

    @property
    def applied(self) -> tuple[str, ...]:
        """The ids that are compiled without a profile, in order."""
        return self.listed(None)

    def listed(self, profile: str | None) -> tuple[str, ...]:
        """The ids that are compiled with `profile`, in order; what is disabled or archived never is.

        Raises:
            KeyError: there is no such profile.
        """
        chosen = Profile() if profile is None else self.profiles[profile]
        names = self.active if chosen.active is None else chosen.active
        out = {*self.disabled, *self.archived, *chosen.disabled}
        return tuple(name for name in names if name not in out)


class BankSkill(BaseModel):
    """Where one skill is compiled to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    output: str


class BankGroup(BaseModel):
    """Skills that are optimised, or not, together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str = ""
    optimization_target: bool | None = Field(None, description="Default: only the group `rllm` is one.")
    skills: dict[str, BankSkill]


class BankSettings(BaseModel):
    """What holds for the whole bank."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    compiled_dir: Literal["compiled"] = "compiled"
    output_base: Literal["..", "../"] = ".."  # the folder that holds the bank


class BankFile(BaseModel):
    """`bank.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal["1.0"]
    groups: dict[str, BankGroup]
    settings: BankSettings = BankSettings()


def parse_manifest(text: str, *, origin: str) -> Manifest:
    """Read one `manifest.yaml`.

    Raises:
        SkillBankError: with file, field and what was found.
    """
    manifest = _validated(Manifest, text, origin)
    twice = {name for name in manifest.active if manifest.active.count(name) > 1}
    if twice:
        raise SkillBankError(
            f"{origin}: `active` lists {sorted(twice)} more than once; list each patch once."
        )
    return manifest


def manifest_problems(text: str, *, origin: str) -> list[str]:
    """Everything for which `parse_manifest` refuses a file."""
    try:
        parse_manifest(text, origin=origin)
    except SkillBankError as error:
        cause = error.__cause__
        return _messages(cause, origin) if isinstance(cause, ValidationError) else [str(error)]
    return []


def parse_bank_file(text: str, *, origin: str) -> BankFile:
    """Read one `bank.yaml`.

    Raises:
        SkillBankError: with file, field and what was found.
    """
    return _validated(BankFile, text, origin)


def with_active(text: str, added: tuple[str, ...], *, origin: str) -> str:
    """The manifest's text with ids added at the end of `active`; comments and all else stay.

    Raises:
        SkillBankError: the file's layout does not allow it without touching the rest.
    """
    return with_lists(text, {"active": (*parse_manifest(text, origin=origin).active, *added)}, origin=origin)


def with_lists(text: str, wanted: Mapping[str, tuple[str, ...]], *, origin: str) -> str:
    """The manifest's text with the lists `wanted`, by name; every other byte stays.

    Raises:
        SkillBankError: the file's layout does not allow it without touching the rest.
    """
    before = parse_manifest(text, origin=origin)
    changed = text
    for key, items in wanted.items():
        changed = _with_list(changed, key, tuple(getattr(before, key)), items)
    try:
        done = parse_manifest(changed, origin=origin) == before.model_copy(update=dict(wanted))
    except SkillBankError:
        done = False
    if not done:
        raise SkillBankError(
            f"{origin}: cannot change {', '.join(map(repr, wanted))} as it is written; write each as a list, "
            f"one id a line."
        )
    return changed


def _with_list(text: str, key: str, held: tuple[str, ...], wanted: tuple[str, ...]) -> str:
    """`text` with the list `key` changed; whether that worked is for the caller to check."""
    if wanted == held:
        return text
    if wanted[: len(held)] == held:
        return _inserted(text, key, wanted[len(held) :])
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    name, node = next((name, node) for name, node in pairs if name.value == key)
    if node.flow_style:
        return text[: node.start_mark.index] + f"[{', '.join(wanted)}]" + text[node.end_mark.index :]
    end = "\r\n" if "\r\n" in text else "\n"
    lines = {item.value: _line_of(text, item) for item in node.value}
    if wanted == tuple(name for name in held if name in wanted) and wanted:
        for removed in reversed([name for name in held if name not in wanted]):
            start, stop = lines[removed]
            text = text[:start] + text[stop:]
        return text
    start, stop = lines[held[0]][0], lines[held[-1]][1]
    fresh = "".join(f"{' ' * node.start_mark.column}- {name}{end}" for name in wanted)
    if wanted:
        return text[:start] + fresh + text[stop:]
    colon = text.index(":", name.end_mark.index) + 1
    return text[:colon] + " []" + text[colon:start] + text[stop:]


def _line_of(text: str, node: yaml.Node) -> tuple[int, int]:
    """Where the line with `node` begins and ends."""
    end = text.find("\n", node.end_mark.index)
    return text.rfind("\n", 0, node.start_mark.index) + 1, len(text) if end < 0 else end + 1


def _inserted(text: str, key: str, added: tuple[str, ...]) -> str:
    """`text` with ids put in at the end of the list `key`."""
    end = "\r\n" if "\r\n" in text else "\n"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    node = next((value for name, value in pairs if name.value == key), None)
    if node is None:
        joint = "" if not text or text.endswith("\n") else end
        return text + joint + f"{key}:{end}" + "".join(f"- {name}{end}" for name in added)
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        items = "".join(f"{end}  - {name}" for name in added)
        return text[: node.start_mark.index].rstrip(" ") + items + text[node.end_mark.index :]
    last = node.value[-1].end_mark.index
    if node.flow_style:
        return text[:last] + "".join(f", {name}" for name in added) + text[last:]
    line_end = text.find("\n", last)
    place = len(text) if line_end < 0 else line_end + 1
    joint = end if line_end < 0 else ""
    lines = "".join(f"{' ' * node.start_mark.column}- {name}{end}" for name in added)
    return text[:place] + joint + lines + text[place:]


def _validated(model: type[_Model], text: str, origin: str) -> _Model:
    """The typed form of a YAML file."""
    try:
        return model.model_validate(load_mapping(text, origin=origin, error=SkillBankError))
    except ValidationError as error:
        raise SkillBankError(_messages(error, origin)[0]) from error


def _messages(error: ValidationError, origin: str) -> list[str]:
    """What is wrong with each field."""
    return [
        f"{origin}: `{'.'.join(map(str, one['loc']))}`: {one['msg']}; found {one['input']!r}."
        for one in error.errors(include_url=False)
    ]
