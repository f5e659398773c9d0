"""The lines that a person types to decide on a patch. Text alone: nothing is decided here."""

import shlex
from typing import Final

_FOR: Final = ("accept", "needs_person")  # what the gate says of a patch that may be approved as it is


def command(action: str, patch_id: str) -> str:
    """One line, with the names that it needs left open."""
    return f"agent-evo patches {action} {shlex.quote(patch_id)} --by NAME --reason TEXT"


def to_decide(patch_id: str, gate: str | None) -> tuple[str, str]:
    """The two lines of which one is typed; an approval against the gate says so, and comes second."""
    approve, reject = command("approve", patch_id), command("reject", patch_id)
    return (approve, reject) if gate in _FOR else (reject, f"{approve} --override")
