"""Speed of the skill bank: compiling, finding nothing to do, and growing. No training.

`python -m benchmarks.skills [--skills 1000] [--patches 20]` prints a table, best of several passes, and one
JSON line last. Exit 1 where a target is missed.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from agent_evo_dagster.patches.application import patched_section
from agent_evo_dagster.patches.document import patch_id, render_patch, section_hash
from agent_evo_dagster.patches.types import Action, Patch, PatchStatus
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_all
from agent_evo_dagster.skills.writing import write_skills

USUAL = [4] * 19 + [5]  # 20 skills with 81 patches, as a bank in use had them
BASE = """---
name: {name}
description: "A skill of {name}, for measuring. Use it to see how long compiling takes."
---

# {name}

<!-- section:settings -->
```yaml
# agent-evo:settings
learning_rate: {{default: 2.0e-5, min: 1.0e-6, max: 2.0e-3, why: "Cautious: too high ruins a policy."}}
max_steps: {{default: 10, min: 2, max: 200, why: "Enough steps to see a trend."}}
```
<!-- /section:settings -->

<!-- section:rules -->
## Rules

- Change one setting at a time: two at once cannot be told apart.
<!-- /section:rules -->
"""


@dataclass(frozen=True)
class Figure:
    """One measurement."""

    what: str
    skills: int
    patches: int
    cpu_ms: float
    wall_ms: float
    target_ms: float | None = None

    @property
    def met(self) -> bool:
        """Whether the target is met, in CPU time: other processes do not count."""
        return self.target_ms is None or self.cpu_ms <= self.target_ms


def make_bank(folder: Path, patches: Sequence[int]) -> SkillBank:
    """A bank with one skill for each entry, with that many patches, each on top of the one before."""
    root = folder / "bank"
    lines = ['version: "1.0"', "groups:", "  rllm:", "    skills:"]
    for number, count in enumerate(patches):
        name = f"skill-{number:04d}"
        lines.append(f"      {name}: {{output: .claude/skills/{name}/SKILL.md}}")
        held = root / "rllm" / name
        (held / "patches").mkdir(parents=True)
        (held / "base.md").write_text(BASE.format(name=name))
        made = _patches(name, count)
        for patch in made:
            (held / "patches" / f"{patch.id}.md").write_text(render_patch(patch))
        (held / "manifest.yaml").write_text("active:\n" + "".join(f"- {patch.id}\n" for patch in made))
    (root / "bank.yaml").write_text("\n".join(lines) + "\n")
    return SkillBank.open(root)


def _patches(skill: str, count: int) -> list[Patch]:
    """Patches of the kinds that are seen: most append a rule, some insert one after the section."""
    text = BASE.partition("<!-- section:rules -->\n")[2].partition("<!-- /section")[0]
    made = []
    for number in range(count):
        action: Action = "insert_after" if number % 4 == 3 else "append"
        body = f"- Rule {number}: look at the reward before the loss, and at both before the clock.\n"
        digest = section_hash(text)
        patch = Patch(
            id=patch_id(skill=skill, section="rules", action=action, base_hash=digest, body=body),
            group="rllm",
            skill=skill,
            target_section="rules",
            action=action,
            description="One more rule: what to look at first.",
            base_hash=digest,
            source_round="round-0001",
            findings=("f-0001",),
            status=PatchStatus.ACTIVE,
            created=datetime(2026, 1, 1, tzinfo=UTC),
            body=body,
        )
        text = patched_section(text, patch)
        made.append(patch)
    return made


def measured(
    what: str, bank: SkillBank, run: Callable[[], object], *, passes: int, target: float | None = None
) -> Figure:
    """The best of several passes."""
    patches = sum(len(bank.manifest(ref).applied) for ref in bank.skills())
    cpu, wall = float("inf"), float("inf")
    for _ in range(passes):
        began, began_cpu = time.perf_counter(), time.process_time()
        run()
        cpu = min(cpu, time.process_time() - began_cpu)
        wall = min(wall, time.perf_counter() - began)
    return Figure(what, len(bank.skills()), patches, round(cpu * 1e3, 2), round(wall * 1e3, 2), target)


def compiling(bank: SkillBank) -> Callable[[], object]:
    """Everything from the files on disk, as a new process would."""
    return lambda: compile_all(SkillBank.open(bank.path))


def figures(folder: Path, skills: int, patches: int) -> list[Figure]:
    """All measurements; the big bank is made twice, one a tenth of the other."""
    usual = make_bank(folder / "usual", USUAL)
    names = [ref.name for ref in usual.skills()]
    found = [measured("compile", usual, compiling(usual), passes=20, target=40.0)]
    write_skills(usual, names)
    before = times(usual)
    found.append(measured("nothing to do", usual, lambda: write_skills(usual, names), passes=20, target=10.0))
    if times(usual) != before:
        raise SystemExit("nothing was to do, and something was written")
    for count in (max(skills // 10, 1), skills):
        big = make_bank(folder / f"big-{count}", [patches] * count)
        found.append(measured("compile", big, compiling(big), passes=2))
    small, large = found[-2:]
    linear = 1.5 * small.cpu_ms / small.skills * large.skills
    found[-1] = replace(large, target_ms=round(linear, 2))
    return found


def times(bank: SkillBank) -> dict[Path, int]:
    """When each file of the bank's project was written."""
    return {path: path.stat().st_mtime_ns for path in bank.project.rglob("*")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=int, default=1000)
    parser.add_argument("--patches", type=int, default=20)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="skills-"))
    try:
        found = figures(folder, asked.skills, asked.patches)
    finally:
        shutil.rmtree(folder)
    print(f"{'what':14} {'skills':>7} {'patches':>8} {'CPU ms':>9} {'wall ms':>9} {'target':>9}")
    for item in found:
        target = "" if item.target_ms is None else f"{item.target_ms:.0f}"
        counts = f"{item.what:14} {item.skills:7} {item.patches:8}"
        print(f"{counts} {item.cpu_ms:9.1f} {item.wall_ms:9.1f} {target:>9}")
    met = all(item.met for item in found)
    print(json.dumps({"benchmark": "skills", "met": met, "figures": [asdict(item) for item in found]}))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
