"""Patch files of older banks load, report what is broken, and compile over a base with their sections."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.legacy import parse_legacy_patch, read_legacy_patches
from agent_evo_dagster.patches.types import Patch, PatchStatus
from agent_evo_dagster.skills.apply import apply_patches
from agent_evo_dagster.skills.sections import parse_document

SAMPLE = Path(__file__).parents[4] / "shared/data/agent_sessions/skill_bank_sample/rllm"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD = """---
id: "001-safety"
target_section: "param-ranges"
action: append
description: "safe: ranges"
source: "an experiment"
created: "2026-04-30"

depends_on: []
conflicts_with: []
status: active
superseded_by: ""
---

### Ranges
"""


def test_an_old_patch_becomes_one_of_today() -> None:
    old = parse_legacy_patch(OLD, origin="x.md")
    new = old.against("Base.\n", group="rllm", skill="alpha", created=NOW)
    assert (new.status, new.description, new.body) == (PatchStatus.ACTIVE, "safe: ranges", "\n### Ranges\n")
    assert new == old.against("Base.\n", group="rllm", skill="alpha", created=NOW)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('description: "safe: ranges"', "description: [P0] safe", "x.md, line 5: not valid YAML"),
        ("status: active", "status: accepted", "`status`"),
        ("---\n", "", "no front matter"),
        ("### Ranges", "```", "never closed"),
        ("Ranges", "Ran\u200bges", "line 15, column 8"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_place(old: str, new: str, message: str) -> None:
    with pytest.raises(PatchError, match=message):
        parse_legacy_patch(OLD.replace(old, new, 1), origin="x.md")


def test_markers_of_old_patches_are_left_out() -> None:
    text = OLD + "<!-- section:more -->\nText.\n<!-- /section:more -->\n"
    assert parse_legacy_patch(text, origin="x").body == "\n### Ranges\nText.\n"


def test_one_broken_file_keeps_no_other_out(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(OLD)
    (tmp_path / "b.md").write_text(OLD.replace('"safe', "[safe"))
    (tmp_path / "c.md").write_bytes(b"\xff")
    found = read_legacy_patches(tmp_path)
    assert [patch.id for patch in found.loaded] == ["001-safety"]
    assert len(found.problems) == 2


def test_the_patches_of_a_real_bank_load_and_apply() -> None:
    if not SAMPLE.is_dir():
        pytest.skip(f"needs the sample bank at {SAMPLE}")
    found = {
        skill: read_legacy_patches(SAMPLE / skill / "patches") for skill in ("rllm-config", "rllm-monitor")
    }
    problems = [problem for patches in found.values() for problem in patches.problems]
    assert sum(len(patches.loaded) for patches in found.values()) == 55
    assert len(problems) == 4
    assert all("081552" in item or "092046" in item for item in problems)
    assert all("line 5: not valid YAML" in item for item in problems)
    for skill, patches in found.items():
        names = dict.fromkeys(patch.target_section for patch in patches.loaded)
        marked = (f"<!-- section:{name} -->\nBase.\n<!-- /section:{name} -->\n" for name in names)
        document = parse_document(f"---\nname: {skill}\n---\n{''.join(marked)}", origin=skill)
        stack: list[Patch] = []
        for old in patches.loaded:
            base = apply_patches(document, stack, origin=skill).sections[old.target_section]
            stack.append(old.against(base, group="rllm", skill=skill, created=NOW))
        text = apply_patches(document, stack, origin=skill).body()
        assert all(patch.body.strip() in text for patch in patches.loaded if patch.action != "replace")
