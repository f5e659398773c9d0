"""A place for one run of the client, apart from its user's: folder, home, configuration, environment.

What the client reads of a machine beside its working folder is left out: the user's settings, memory and
hooks, since its home and configuration are new ones; a project's, since no folder above it is one. Of the
user it has the login alone.
"""

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent_evo_dagster.analysts.client import Ended, run_client
from agent_evo_dagster.analysts.client_environment import login_alone
from agent_evo_dagster.errors import ClientError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.operators.login import CONFIG, lent
from agent_evo_dagster.operators.types import Bounds
from agent_evo_dagster.skills.types import CompiledSkill

# The client looks for these in every folder above the one that it works in.
_OF_A_PROJECT: Final = ("CLAUDE.md", "CLAUDE.local.md", ".claude", ".git")
TOOLS: Final = ("Skill", "Bash", "Read", "Write", "Edit", "Glob", "Grep", "TodoWrite")
# Where nobody can be asked, what is not allowed is denied. The skills are what is tried, so they stay.
ALLOWED: Final = ("Skill", "TodoWrite", "Edit(./**)")
DENIED: Final = ("Edit(./.claude/**)",)
_PREFIX: Final = "agent-evo-work-"
_LEFT_SECONDS: Final = 7 * 24 * 3600.0  # no run takes as long


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders of one run, all below `root`; the client works in `folder`."""

    root: Path

    @property
    def folder(self) -> Path:
        """Where the client works."""
        return self.root / "work"

    @property
    def claude(self) -> Path:
        """Settings that it is given, and hooks; out of its reach."""
        return self.root / "given"

    @property
    def scratch(self) -> Path:
        """Where temporary files go."""
        return self.root / "tmp"

    def environment(self) -> dict[str, str]:
        """The login, and this place instead of the user's."""
        places = {"HOME": "home", "TMPDIR": "tmp", CONFIG: "config"}
        return {**login_alone(), **{name: str(self.root / folder) for name, folder in places.items()}}

    def run(
        self,
        prompt: str,
        bounds: Bounds,
        *,
        model: str | None,
        allowed: Sequence[str] = (),
        more: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run the client here; `allowed` are permissions beside the usual, `more` other flags.

        Raises:
            ClientError: it cannot be started.
        """
        arguments = ["-p", "--output-format", "json", "--permission-mode", "dontAsk", "--strict-mcp-config"]
        arguments += ["--setting-sources", "project", "--tools", ",".join(TOOLS)]
        arguments += ["--allowedTools", ",".join((*ALLOWED, *allowed)), "--disallowedTools", ",".join(DENIED)]
        arguments += ["--max-turns", str(bounds.turns), "--max-budget-usd", f"{bounds.money:.6f}", *more]
        arguments += ["--model", model] if model else []
        return run_client(
            arguments,
            prompt=prompt,
            folder=self.folder,
            seconds=bounds.seconds,
            env={**self.environment(), **(env or {})},
        )


@contextlib.contextmanager
def workspace(skills: Sequence[CompiledSkill]) -> Iterator[Workspace]:
    """A place with `skills` compiled in it, until the block ends; its name tells nothing of what it is for.

    Raises:
        ClientError: temporary folders lie inside of a project, whose files the client would read.
    """
    root = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    _clear(root.parent)
    try:
        _require_apart(root)
        place = Workspace(root)
        for name in ("work", "home", "tmp", "config", "given"):
            (root / name).mkdir(mode=0o700)
        for skill in skills:
            write_atomic(place.folder / ".claude" / "skills" / skill.name / "SKILL.md", skill.text.encode())
        with lent(root / "config"):
            yield place
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _clear(folder: Path) -> None:
    """Remove places that a killed process left long ago; what one holds of a session was captured."""
    limit = time.time() - _LEFT_SECONDS
    for old in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            status = old.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and status.st_mtime < limit:
                shutil.rmtree(old, ignore_errors=True)


def _require_apart(root: Path) -> None:
    for folder in root.parents:
        found = [name for name in _OF_A_PROJECT if (folder / name).exists()]
        if found:
            raise ClientError(
                f"Claude Code is to work in a new folder below {root.parent}, and would read "
                f"{folder / found[0]}, which is not its own. Set TMPDIR to a folder outside of any project."
            )
