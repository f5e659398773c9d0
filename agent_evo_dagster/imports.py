"""Parts that a person wrote, made from their import path. What they must be able to do is the caller's."""

from importlib import import_module

from agent_evo_dagster.errors import AgentEvoError


def made_from(path: str, *, kind: str, error: type[AgentEvoError]) -> object:
    """An instance of the class `package.module:Class`.

    Raises:
        AgentEvoError: of the class `error`, naming the `kind`, where it cannot be imported or made.
    """
    module, _, attribute = path.partition(":")
    try:
        made: object = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as problem:
        raise error(
            f"The {kind} {path!r} cannot be made: {problem}. "
            "Check that the module can be imported and that the class needs no arguments."
        ) from problem
    return made
