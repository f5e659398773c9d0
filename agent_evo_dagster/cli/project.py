"""The checkout that a command works on, and the Dagster process that it starts there. No command."""

import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from agent_evo_dagster.cli.live import Screen, live_bar
from agent_evo_dagster.errors import MissingExtraError, SettingsError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.settings import HOME, Settings, read_settings
from agent_evo_dagster.training.orphan import PARENT_FD
from agent_evo_dagster.training.telemetry import OFFLINE_BY_DEFAULT, TELEMETRY_OFF


def project_root() -> Path:
    """The checkout of the code location: `AGENT_EVO_PROJECT`, else this one, else a parent of the cwd.

    Raises:
        SettingsError: none of them holds workspace.yaml and the Dagster rooms.
    """
    named = os.environ.get("AGENT_EVO_PROJECT")
    places = [Path(named)] if named else [Path(__file__).parents[2], Path.cwd(), *Path.cwd().parents]
    for place in places:
        if (place / "workspace.yaml").is_file() and (place / "assets").is_dir():
            return place.resolve()
    raise SettingsError(
        "This command needs the Dagster code location, and no checkout of it is at "
        f"{', '.join(map(str, places[:3]))} "
        "(workspace.yaml and assets/). Run it inside a checkout, or set AGENT_EVO_PROJECT to one."
    )


def settings_of(root: Path) -> Settings:
    """The settings of the checkout at `root`: its own home unless the environment names another."""
    return read_settings(root / ".agent_evo")


def bank_of(settings: Settings, root: Path) -> Path:
    """The bank that the next round reads: the shipped one, where none was made yet."""
    return settings.bank_path if settings.bank_path.exists() else root / "skill_bank"


def current_settings() -> Settings:
    """The settings of the environment; a checkout is looked for only where it names no home."""
    return read_settings() if os.environ.get(HOME) else settings_of(project_root())


def dagster_environment(root: Path, settings: Settings) -> Mapping[str, str]:
    """The environment of a Dagster process of this home; its dagster.yaml is made where missing."""
    home = Path(os.environ.get("DAGSTER_HOME") or settings.root / "dagster")
    if not (home / "dagster.yaml").exists():
        write_atomic(home / "dagster.yaml", (root / "deploy" / "dagster.yaml").read_bytes())
    return {
        **OFFLINE_BY_DEFAULT,
        **os.environ,
        **TELEMETRY_OFF,
        "DAGSTER_HOME": str(home),
        HOME: str(settings.root),
    }


def launch(root: Path, settings: Settings, key: str, *job: str) -> int:
    """Register a round in Dagster, and run a job on it if one is named, in another process; its exit code.

    That process ends when this one does, however this one ends. A terminal sees how far its jobs are.

    Raises:
        MissingExtraError: Dagster is not installed.
    """
    if importlib.util.find_spec("dagster") is None:
        raise MissingExtraError(
            f"Running {key} needs the package 'dagster', which is not installed. "
            "Install it with: pip install 'agent-evo-dagster[dagster]'"
        )
    command = [sys.executable, "-m", "automation.launch", key, *job]
    read_end, write_end = os.pipe()
    try:
        environment = {**dagster_environment(root, settings), PARENT_FD: str(read_end)}
        with live_bar(settings, key) if job else contextlib.nullcontext(Screen()) as screen:
            return subprocess.run(
                command,
                cwd=root,
                env={**environment, **screen.environment},
                stderr=screen.stderr,
                pass_fds=(read_end,),
                check=False,
            ).returncode
    finally:
        os.close(read_end)
        os.close(write_end)
