"""Skills that exist as SKILL.md files, taken into a new bank: compiled, they are the same bytes again.

The files stay where they are, and so does everything beside them: they are the outputs of the new bank.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.fences import marker_of, scan
from agent_evo_dagster.patches.front_matter import split_front_matter
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.skills.agent_skill import check_name, compiled_head, head_problems
from agent_evo_dagster.skills.bank import SkillBank, found_bank, read_text
from agent_evo_dagster.skills.compile import compile_all
from agent_evo_dagster.skills.outputs import contained
from agent_evo_dagster.skills.proposing import with_sections
from agent_evo_dagster.skills.sections import parse_document
from agent_evo_dagster.skills.writing import write_skills

FILE = "SKILL.md"
_MANIFEST = "base: base.md\nactive: []          # ids of patches, in the order of application\n"
_AS_IS = "front_matter: as-is   # as imported; without this line the description becomes one quoted line\n"


@dataclass(frozen=True)
class ImportedSkill:
    """One skill as it will stand in the bank."""

    name: str
    output: str  # POSIX path relative to the project: where the SKILL.md is
    text: str
    base: str
    manifest: str
    sections: tuple[str, ...]


def read_skills(project: Path, folder: Path, *, leave_out: Sequence[str] = ()) -> list[ImportedSkill]:
    """Every `<name>/SKILL.md` of `folder`, in the order of names, but those of `leave_out`.

    Raises:
        SkillBankError: there is none, or some cannot be taken as they are: all are named, with file and line.
    """
    found = {path.parent.name: path for path in sorted(folder.glob(f"*/{FILE}"))}
    unknown = sorted(set(leave_out) - found.keys())
    if unknown or not found:
        held = ", ".join(found) or f"no folder with a {FILE}"
        raise SkillBankError(f"{', '.join(unknown) or 'skills'} asked for in {folder}; it has: {held}.")
    skills: list[ImportedSkill] = []
    problems: list[str] = []
    wanted = {name: path for name, path in found.items() if name not in leave_out}
    for name, path in wanted.items():
        try:
            skills.append(_read(project, name, path))
        except SkillBankError as error:
            problems += [f"  {line}" for line in str(error).splitlines()]
    if problems:
        bad = len(wanted) - len(skills)
        raise SkillBankError(
            f"{bad} of {len(wanted)} skills in {folder} cannot be taken as they are. Mend or leave "
            "them out (--skip NAME); nothing was written.\n" + "\n".join(problems)
        )
    if not skills:
        raise SkillBankError(f"every skill of {folder} is left out; name fewer with --skip.")
    return skills


def import_bank(
    target: Path, skills: Sequence[ImportedSkill], *, group: str, more: Mapping[str, bytes] = {}
) -> SkillBank:
    """A new bank at `target` with these skills in one group, whose first versions are kept; all, or nothing.

    Raises:
        SkillBankError: `target` exists, `group` is no name, or a skill does not compile to the same bytes.
    """
    content = {**_content(skills, group=group), **more}
    try:
        bank = found_bank(content, target, check=lambda staged: _require_same_bytes(staged, skills))
    except SkillBankError as error:  # told as if it were in place: nobody finds the folder that was tried
        raise SkillBankError(re.sub(rf"\.{re.escape(target.name)}\.\w+", target.name, str(error))) from error
    write_skills(bank, [skill.name for skill in skills])
    return bank


def _content(skills: Sequence[ImportedSkill], *, group: str) -> dict[str, bytes]:
    """The files of the bank, by their path in it."""
    check_name(group, what="--group")
    lines = [
        "# The skill bank: which skills there are, and where each is compiled to.",
        "# Outputs are relative to the folder that holds the bank.",
        'version: "1.0"',
        "",
        "groups:",
        f"  {group}:",
        '    description: "Skills of this project"',
        "    optimization_target: true   # rounds may propose patches to these skills",
        "    skills:",
    ]
    content = {}
    for skill in skills:
        # Names could be read as other things than text: `on`, `1e3`.
        lines += [f'      "{skill.name}":', f'        output: "{skill.output}"']
        content[f"{group}/{skill.name}/base.md"] = skill.base.encode()
        content[f"{group}/{skill.name}/manifest.yaml"] = skill.manifest.encode()
    return {"bank.yaml": ("\n".join(lines) + "\n").encode(), **content}


def _require_same_bytes(bank: SkillBank, skills: Sequence[ImportedSkill]) -> None:
    """Compile the new bank in memory, and compare with what was imported."""
    compiled = {skill.name: skill.text for skill in compile_all(bank)}
    for skill in skills:
        if compiled[skill.name] != skill.text:
            raise SkillBankError(
                f"{skill.output}: compiled, it would not be the same bytes. Leave it out with "
                f"--skip {skill.name}, and report the file: this is a fault of the import."
            )


def _read(project: Path, name: str, path: Path) -> ImportedSkill:
    """One skill; its problems are lines of one error."""
    check_name(name, what=f"{path}: the skill's folder")
    if not path.resolve().is_relative_to(project.resolve()):
        raise SkillBankError(
            f"{path} is not below {project}, where the bank compiles to; copy its folder into the project, "
            f"to .claude/skills/{name}."
        )
    output = path.resolve().relative_to(project.resolve()).as_posix()
    contained(project, output)
    text = read_text(path, output)
    problems = list(_problems(text, name, output))
    if problems:
        raise SkillBankError("\n".join(problems))
    cut = split_front_matter(text)
    assert cut is not None
    base = cut.head + with_sections(cut.body)
    sections = parse_document(base, origin=output).sections()
    same = compiled_head(cut.head, name=name, origin=output) == cut.head
    manifest = _MANIFEST if same else _MANIFEST + _AS_IS
    return ImportedSkill(name, output, text, base, manifest, tuple(section.name for section in sections))


def _problems(text: str, name: str, output: str) -> Iterator[str]:
    """Why a text cannot be a base file that compiles to itself."""
    hidden = first_hidden(text)
    if hidden is not None:
        yield f"{output}, {hidden}: a hidden character; remove it."
    cut = split_front_matter(text)
    if cut is None:
        if hidden is None:  # such as a byte order mark before it
            yield f"{output}, line 1: no front matter; begin with `---`, name, description, and `---` again."
        return
    yield from head_problems(cut.head, name=name, origin=output, as_is=True)
    above = cut.head.count("\n")
    for line in scan(cut.body):
        if marker_of(line) is not None:
            yield (
                f"{output}, line {line.number + above}: {line.text.strip()!r} is a section marker, which "
                f"compiling takes out; remove it, or put it in a code fence."
            )
