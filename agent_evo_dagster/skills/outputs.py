"""Where a bank may write: output paths kept within its project and outside the bank. No writing."""

from pathlib import Path, PurePosixPath

from agent_evo_dagster.errors import SkillBankError


def check_output(output: str, *, skill: str, origin: str) -> None:
    """Refuse an output that agents would not find or that could lie elsewhere, by its text alone.

    Raises:
        SkillBankError: absolute, with `..`, or not ending in `<skill>/SKILL.md`.
    """
    path = PurePosixPath(output)
    bad = path.is_absolute() or ".." in path.parts or "\\" in output or "\0" in output or ":" in output
    if bad or path.as_posix() != output or path.parts[-2:] != (skill, "SKILL.md"):
        raise SkillBankError(
            f"{origin}: the output of {skill!r} is {output!r}; give a path below the project that ends in "
            f"{skill}/SKILL.md, such as .claude/skills/{skill}/SKILL.md."
        )


def contained(root: Path, relative: str, *, outside: Path | None = None) -> Path:
    """The path `relative` below `root`, with every link on the way followed.

    Raises:
        SkillBankError: a link leads out of `root`, or the path lies in `outside`.
    """
    real = root.resolve()
    path = real.joinpath(*PurePosixPath(relative).parts)
    if path.resolve() != path or not path.is_relative_to(real):
        raise SkillBankError(
            f"{relative!r} below {real} goes through a symbolic link to {path.resolve()}; "
            f"replace the link by a folder, or choose another output in bank.yaml."
        )
    if outside is not None and path.is_relative_to(outside.resolve()):
        raise SkillBankError(
            f"{relative!r} lies within the skill bank {outside}; choose an output beside it."
        )
    return path
