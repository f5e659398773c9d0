"""What captures the sessions of a project: our hook in a settings file, our plugin. Not its installation."""

from collections.abc import Iterator
from pathlib import Path

from agent_evo_dagster.capture.claude_settings import has_own, load

PLUGIN = "agent-evo"


def capturers(user: Path, project: Path | None = None) -> list[str]:
    """What captures each event, in words; more than one captures it as often.

    Args:
        user: The client's own folder, `~/.claude`.
        project: The project's `.claude`; without one, what holds in all projects.

    Raises:
        CaptureError: a settings file cannot be understood.
    """
    files = [user / "settings.json"]
    if project is not None and project.resolve() != user.resolve():
        files += [project / "settings.json", project / "settings.local.json"]
    held = {path: settings for path in files if (settings := load(path)) is not None}
    hooks = [f"the hook in {path}" for path, settings in held.items() if has_own(settings)]
    plugins: dict[str, tuple[bool, Path]] = {}
    for path, settings in held.items():  # the later file decides
        plugins |= {name: (enabled, path) for name, enabled in _plugins(settings.get("enabledPlugins"))}
    return hooks + [f"the plugin {name} in {path}" for name, (enabled, path) in plugins.items() if enabled]


def _plugins(told: object) -> Iterator[tuple[str, bool]]:
    """Our plugin, from whatever marketplace, and whether it is enabled."""
    for name, enabled in told.items() if isinstance(told, dict) else ():
        if str(name).partition("@")[0] == PLUGIN:
            yield str(name), enabled is True
