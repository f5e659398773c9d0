"""Skills as a plugin: the layout that the client loads, the same bytes each time, others' files untouched."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from skills_ref.validator import validate as reference

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.skills.bank import SkillBank, create_bank
from agent_evo_dagster.skills.compile import compile_all
from agent_evo_dagster.skills.plugin import MANIFEST, PluginLabel, PluginReport, export_plugin
from agent_evo_dagster.skills.writing import write_skills
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK, bank_at

# What the client asks of a manifest; with --strict it wants all four and refuses any other field.
FIELDS = ["name", "version", "description", "author"]


@pytest.fixture
def bank(tmp_path: Path) -> SkillBank:
    """Two skills, one with a script beside it."""
    bank = bank_at(tmp_path, "alpha", "beta")
    write_skills(bank, ["alpha", "beta"])
    scripts = tmp_path / ".claude" / "skills" / "alpha" / "scripts"
    (scripts / "__pycache__").mkdir(parents=True)
    (scripts / "__pycache__" / "x.pyc").write_bytes(b"x")
    (scripts / "run.sh").write_text("#!/bin/sh\n")
    (scripts / "run.sh").chmod(0o755)
    return bank


def export(
    bank: SkillBank, target: Path, label: PluginLabel | None = None, **options: object
) -> PluginReport:
    return export_plugin(target, compile_all(bank), label or PluginLabel("ours"), **options)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_the_layout_is_what_the_client_loads(bank: SkillBank, tmp_path: Path) -> None:
    report = export(bank, tmp_path / "ours", more={"hooks/hooks.json": b"{}\n"})
    held = files(tmp_path / "ours")
    assert sorted(held) == [
        ".claude-plugin/plugin.json",
        "hooks/hooks.json",
        "skills/alpha/SKILL.md",
        "skills/alpha/scripts/run.sh",
        "skills/beta/SKILL.md",
    ]
    assert (report.files, set(report.written)) == (tuple(sorted(held)), set(held))
    for skill in compile_all(bank):
        assert held[f"skills/{skill.name}/SKILL.md"] == skill.text.encode()
    assert (tmp_path / "ours/skills/alpha/scripts/run.sh").stat().st_mode & 0o777 == 0o755
    manifest = json.loads(held[MANIFEST])
    assert list(manifest) == FIELDS
    assert (manifest["name"], manifest["description"]) == ("ours", "Skills: alpha, beta.")
    assert manifest["author"] == {"name": "ours contributors"}
    assert re.fullmatch(r"0\.1\.0-h[0-9a-f]{12}", manifest["version"])


def test_the_same_bank_gives_the_same_bytes_and_is_written_once(bank: SkillBank, tmp_path: Path) -> None:
    export(bank, tmp_path / "a")
    export(bank, tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*")}
    assert export(bank, tmp_path / "a").written == ()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*")} == stamps


def test_a_changed_skill_changes_the_version_and_its_file_alone(bank: SkillBank, tmp_path: Path) -> None:
    first = export(bank, tmp_path / "ours")
    base = bank.path / "rllm" / "beta" / "base.md"
    base.write_text(base.read_text().replace("Free text.", "Freer text."))
    second = export(bank, tmp_path / "ours")
    assert second.written == ("skills/beta/SKILL.md", MANIFEST)
    assert first.version != second.version
    assert export(bank, tmp_path / "ours", PluginLabel("ours", "1.2.0", "Ada", "d")).version == "1.2.0"


def test_a_dry_run_writes_nothing(bank: SkillBank, tmp_path: Path) -> None:
    assert len(export(bank, tmp_path / "ours", dry_run=True).written) == 4
    assert not (tmp_path / "ours").exists()


def test_files_of_others_stay_where_the_client_does_not_load_them(bank: SkillBank, tmp_path: Path) -> None:
    (tmp_path / "ours" / ".git").mkdir(parents=True)
    (tmp_path / "ours" / ".git" / "HEAD").write_text("ref\n")
    (tmp_path / "ours" / "README.md").write_text("ours\n")
    export(bank, tmp_path / "ours")
    assert {".git/HEAD", "README.md"} <= files(tmp_path / "ours").keys()


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        (".claude-plugin/plugin.json", '{"name": "theirs"}', "holds the plugin 'theirs', not 'ours'"),
        (".claude-plugin/plugin.json", "{", "holds the plugin None"),
        ("skills/other/SKILL.md", "x", "holds skills/other/SKILL.md"),
        ("skills/alpha/SKILL.md", "x", "holds files, which this export did not make"),
    ],
)
def test_a_folder_of_others_is_refused(
    bank: SkillBank, tmp_path: Path, path: str, text: str, message: str
) -> None:
    (tmp_path / "ours" / path).parent.mkdir(parents=True)
    (tmp_path / "ours" / path).write_text(text)
    with pytest.raises(SkillBankError, match=message):
        export(bank, tmp_path / "ours")
    assert files(tmp_path / "ours") == {path: text.encode()}


def test_a_skill_that_is_gone_is_not_left_for_the_client(bank: SkillBank, tmp_path: Path) -> None:
    export(bank, tmp_path / "ours")
    with pytest.raises(SkillBankError, match=r"skills/beta/SKILL\.md, which .*no longer makes"):
        export_plugin(tmp_path / "ours", compile_all(bank)[:1], PluginLabel("ours"))


def test_links_names_and_versions_that_cannot_be_are_refused(bank: SkillBank, tmp_path: Path) -> None:
    with pytest.raises(SkillBankError, match="the plugin's name 'My Plugin'"):
        export(bank, tmp_path / "x", PluginLabel("My Plugin"))
    with pytest.raises(SkillBankError, match="version 'new'"):
        export(bank, tmp_path / "x", PluginLabel("ours", "new"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(SkillBankError, match="is a file"):
        export(bank, tmp_path / "file")
    (tmp_path / ".claude" / "skills" / "beta" / "out").symlink_to("/etc/hostname")
    with pytest.raises(SkillBankError, match="is a link"):
        export(bank, tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """The shipped skills as a plugin."""
    bank = create_bank(DEFAULT_BANK, tmp_path / "bank")
    export(bank, tmp_path / "agent-evo-skills", PluginLabel("agent-evo-skills"))
    return tmp_path / "agent-evo-skills"


def test_every_exported_skill_is_valid(shipped: Path) -> None:
    folders = sorted((shipped / "skills").iterdir())
    assert {folder.name: reference(folder) for folder in folders} == {folder.name: [] for folder in folders}


@pytest.mark.skipif(shutil.which("claude") is None, reason="the client `claude` is not on the PATH")
def test_the_client_accepts_the_plugin(shipped: Path, tmp_path: Path) -> None:
    environment = {
        "HOME": str(tmp_path),
        "PATH": str(Path(str(shutil.which("claude"))).parent) + ":/usr/bin:/bin",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    command = ["claude", "plugin", "validate", "--strict", str(shipped)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
