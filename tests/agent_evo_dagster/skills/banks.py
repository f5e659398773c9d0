"""Banks and patches for the tests of skills."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from agent_evo_dagster.patches.document import patch_id, render_patch, section_hash
from agent_evo_dagster.patches.types import Action, Patch, PatchStatus
from agent_evo_dagster.skills.bank import SkillBank

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEFAULT_BANK = Path(__file__).parents[3] / "skill_bank"
ALPHA = """---
# kept as it is
name: alpha
version: 1.10
enabled: no
description: "Says alpha."   # short
---

# Alpha

<!-- section:one -->
First.
<!-- /section:one -->

Free text.

<!-- section:two -->
```yaml
# agent-evo:settings
learning_rate: {default: 2.0e-5, min: 1.0e-6, max: 2.0e-3, why: "small"}
```
<!-- /section:two -->
"""


def bank_at(
    project: Path, *names: str, base: str = ALPHA, group: str = "rllm", target: bool = True
) -> SkillBank:
    """A bank in `project` with skills called `names`, all of the same text."""
    root = project / "bank"
    lines = [
        'version: "1.0"',
        "groups:",
        f"  {group}:",
        f"    optimization_target: {str(target).lower()}",
        "    skills:",
    ]
    for name in names or ("alpha",):
        lines.append(f"      {name}: {{output: .claude/skills/{name}/SKILL.md}}")
        folder = root / group / name
        folder.mkdir(parents=True)
        (folder / "base.md").write_bytes(base.replace("name: alpha", f"name: {name}").encode())
        (folder / "manifest.yaml").write_text("# ours\nbase: base.md\nactive: []  # none yet\n")
    (root / "bank.yaml").write_text("\n".join(lines) + "\n")
    return SkillBank.open(root)


def patch(
    base: str,
    body: str,
    *,
    action: Action = "append",
    skill: str = "alpha",
    section: str = "one",
    status: PatchStatus = PatchStatus.APPROVED,
    depends_on: Sequence[str] = (),
    conflicts_with: Sequence[str] = (),
    supersedes: Sequence[str] = (),
) -> Patch:
    """A patch made against the section text `base`."""
    digest = section_hash(base)
    return Patch(
        id=patch_id(skill=skill, section=section, action=action, base_hash=digest, body=body),
        group="rllm",
        skill=skill,
        target_section=section,
        action=action,
        description="a test",
        base_hash=digest,
        depends_on=tuple(depends_on),
        conflicts_with=tuple(conflicts_with),
        supersedes=tuple(supersedes),
        status=status,
        created=NOW,
        body=body,
    )


def put(bank: SkillBank, *patches: Patch, status: PatchStatus | None = None) -> SkillBank:
    """Write patches and list them as active by hand, past all checks."""
    for skill in dict.fromkeys(item.skill for item in patches):
        folder = bank.path / "rllm" / skill
        (folder / "patches").mkdir(exist_ok=True)
        mine = [item for item in patches if item.skill == skill]
        for item in mine:
            kept = item.model_copy(update={"status": status or item.status})
            (folder / "patches" / f"{item.id}.md").write_text(render_patch(kept))
        (folder / "manifest.yaml").write_text(f"active: [{', '.join(item.id for item in mine)}]\n")
    return SkillBank.open(bank.path)
