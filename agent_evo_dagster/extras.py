"""Optional packages, imported where they are used; a missing one names the line that installs it."""

import importlib
from types import ModuleType

from agent_evo_dagster.errors import MissingExtraError


def require(module: str, *, extra: str, feature: str) -> ModuleType:
    """Import `module`, or say which extra brings it.

    Raises:
        MissingExtraError: the module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.partition(".")[0] != error.name.partition(".")[0]:
            raise
        raise MissingExtraError(
            f"{feature} needs the package {error.name!r}, which is not installed. "
            f"Install it with: pip install 'agent-evo-dagster[{extra}]'"
        ) from error
