"""Compiled skills as a Claude Code plugin: a folder with `plugin.json` and `skills/<name>/`. No compiling."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import sha256_bytes, write_atomic
from agent_evo_dagster.skills.agent_skill import check_name
from agent_evo_dagster.skills.types import CompiledSkill

MANIFEST = ".claude-plugin/plugin.json"
_LOADED = (".claude-plugin", "skills", "hooks")  # folders in which the client would find what is left over
_SEMANTIC = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_COMMAND, _PLAIN = 0o755, 0o644


@dataclass(frozen=True)
class PluginLabel:
    """What a plugin says of itself."""

    name: str
    version: str | None = None  # None: one that changes with the content, as clients update by it
    author: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class PluginFile:
    """One file of a plugin."""

    data: bytes
    mode: int = _PLAIN


@dataclass(frozen=True)
class PluginReport:
    """What an export wrote, or would write: paths in the plugin."""

    written: tuple[str, ...]
    files: tuple[str, ...]
    version: str


def export_plugin(
    target: Path,
    skills: Sequence[CompiledSkill],
    label: PluginLabel,
    *,
    more: Mapping[str, bytes] = {},
    dry_run: bool = False,
) -> PluginReport:
    """Write the plugin to folder `target`; the same skills give the same bytes. Again, it writes none.

    Files that lie beside a SKILL.md go along. `more` are further files, by path, such as hooks.

    Raises:
        SkillBankError: a name or version cannot be used, or `target` holds what is not of this plugin.
    """
    files = {**{name: PluginFile(data) for name, data in more.items()}, **dict(_skill_files(skills))}
    manifest = _manifest(label, skills, files)
    files[MANIFEST] = PluginFile((json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode())
    _require_ours(target, label.name, files)
    changed = [name for name in sorted(files) if not _is_there(target / name, files[name])]
    changed.sort(key=lambda name: name == MANIFEST)  # last: a plugin that says so is whole
    for name in () if dry_run else changed:
        write_atomic(target / name, files[name].data, mode=files[name].mode)
    return PluginReport(tuple(changed), tuple(sorted(files)), str(manifest["version"]))


def _manifest(
    label: PluginLabel, skills: Sequence[CompiledSkill], files: Mapping[str, PluginFile]
) -> dict[str, object]:
    check_name(label.name, what="the plugin's name")
    version = label.version
    if version is None:
        lines = [f"{name} {sha256_bytes(file.data)}" for name, file in sorted(files.items())]
        version = f"0.1.0-h{sha256_bytes(chr(10).join(lines).encode())[:12]}"
    if not _SEMANTIC.fullmatch(version):
        raise SkillBankError(
            f"the plugin's version {version!r}: write it as MAJOR.MINOR.PATCH, such as 1.2.0."
        )
    named = ", ".join(skill.name for skill in skills)
    return {
        "name": label.name,
        "version": version,
        "description": label.description or f"Skills: {named}.",
        "author": {"name": label.author or f"{label.name} contributors"},
    }


def _skill_files(skills: Sequence[CompiledSkill]) -> Iterator[tuple[str, PluginFile]]:
    """Each SKILL.md, and what lies beside it on the disk."""
    for skill in skills:
        folder = f"skills/{skill.name}"
        yield f"{folder}/SKILL.md", PluginFile(skill.text.encode())
        home = skill.output.parent
        for path in sorted(home.rglob("*")):
            relative = path.relative_to(home)
            if path.is_symlink():
                raise SkillBankError(f"{path} is a link, which a plugin cannot hold; replace it by a file.")
            if path.is_file() and path != skill.output and "__pycache__" not in relative.parts:
                mode = _COMMAND if path.stat().st_mode & 0o100 else _PLAIN
                yield f"{folder}/{relative.as_posix()}", PluginFile(path.read_bytes(), mode)


def _require_ours(target: Path, name: str, files: Mapping[str, PluginFile]) -> None:
    """Refuse a folder of another plugin, or one in which the client would load what is not of this one."""
    if target.exists() and not target.is_dir():
        raise SkillBankError(f"{target} is a file; name a folder for the plugin.")
    found = [path for top in _LOADED for path in (target / top).rglob("*") if not path.is_dir()]
    held = target / MANIFEST
    if held in found and _name_of(held) != name:
        raise SkillBankError(
            f"{target} holds the plugin {_name_of(held)!r}, not {name!r}; choose another folder."
        )
    other = sorted(path.relative_to(target).as_posix() for path in found)
    other = [path for path in other if path not in files]
    if other or (found and held not in found):
        raise SkillBankError(
            f"{target} holds {', '.join(other[:5]) or 'files'}, which this export did not make or no longer "
            f"makes; remove that, or choose another folder."
        )


def _name_of(manifest: Path) -> object:
    try:
        held = json.loads(manifest.read_bytes())
    except ValueError:
        return None
    return held.get("name") if isinstance(held, dict) else None


def _is_there(path: Path, file: PluginFile) -> bool:
    return path.is_file() and path.read_bytes() == file.data and path.stat().st_mode & 0o777 == file.mode
