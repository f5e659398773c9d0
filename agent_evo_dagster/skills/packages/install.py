"""The skills of a package put where agents find them. The package and the bank stay as they are."""

from pathlib import Path

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.skills.compile import compile_many
from agent_evo_dagster.skills.outputs import contained
from agent_evo_dagster.skills.packages.frozen import read_package
from agent_evo_dagster.skills.packages.skills import BANK, bank_in, bank_profile, compiled_file


def install(package: Path, project: Path, *, dry_run: bool = False) -> list[Path]:
    """Write each SKILL.md of the package at `package` below `project`, to the path that its bank.yaml names.

    Returns:
        The files that changed, or would change.

    Raises:
        SkillBankError: the package holds no skills, or another file lies where one would go.
    """
    if not (package / BANK).is_dir():
        raise SkillBankError(f"{package} holds no skills; choose a package of skills, or a task package.")
    bank, about = bank_in(package), read_package(package).about
    wanted: dict[Path, bytes] = {}
    for skill in compile_many(bank, [ref.name for ref in bank.skills()], profile=bank_profile(about)):
        target = contained(project, bank.ref(skill.name).output)
        wanted[target] = (package / compiled_file(skill)).read_bytes()
    changed = {path: data for path, data in wanted.items() if not path.is_file() or path.read_bytes() != data}
    other = [path for path in changed if path.exists()]
    if other:
        raise SkillBankError(
            f"{other[0]} holds something else ({len(other)} files do); nothing was written. Choose another "
            f"folder, or delete what should be replaced."
        )
    for path, data in {} if dry_run else changed.items():
        write_atomic(path, data)
    return list(changed)
