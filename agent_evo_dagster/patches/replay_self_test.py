"""The replay judge's test of itself, before it judges: known patches on known sessions. Synthetic texts only.

A patch that only pleases the judge, by listing every error there is, is among them.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from agent_evo_dagster.errors import GateError
from agent_evo_dagster.patches.document import section_hash
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.replay import LaterSession, Material, Replay
from agent_evo_dagster.patches.types import Action, GateVerdict, Patch

_ERRORS: Final = ("AlphaError: no gear", "BetaError: no fuel", "GammaError: no road", "DeltaError: no map")
_NAMED = f'- When "Bash" fails with "{_ERRORS[0]}": "start low" first.\n'
_BASE = f"## When it fails\n\n{_NAMED}"
_EMPTY = "## When it fails\n\n- Stop.\n"
_OWN = "the-session-that-made-it"


@dataclass(frozen=True, slots=True)
class _Known:
    """A patch, with what must be said of it: the verdict, and whether it names more than before."""

    name: str
    base: str
    action: Action
    body: str
    verdict: GateVerdict
    better: bool
    own: bool = False


_KNOWNS: Final = (
    _Known("advice on what fails again", _EMPTY, "append", _NAMED, GateVerdict.NEEDS_PERSON, True),
    _Known(
        "advice on what never fails again",
        _EMPTY,
        "append",
        '- When "Bash" fails with "OmegaError: no end": stop.\n',
        GateVerdict.NEEDS_PERSON,
        False,
    ),
    _Known("advice that is there already", _BASE, "append", _NAMED, GateVerdict.NEEDS_PERSON, False),
    _Known(
        "a list of all errors",
        _EMPTY,
        "append",
        f"- Bash may fail: {', '.join(_ERRORS)}.\n",
        GateVerdict.NEEDS_PERSON,
        False,
    ),
    _Known("advice taken out", _BASE, "replace", _EMPTY, GateVerdict.REJECT, False),
    _Known(
        "advice on its own session", _EMPTY, "append", _NAMED, GateVerdict.REJECT_UNVERIFIED, False, own=True
    ),
)


def replay_self_test() -> int:
    """Judge patches whose verdict is known; how many there were.

    Raises:
        GateError: at least one verdict is not the known one; no replay of this judge can be trusted.
    """
    wrong = [said for known in _KNOWNS if (said := _wrong(known))]
    if wrong:
        raise GateError(
            f"The replay judge fails its own test ({'; '.join(wrong)}). Mend it before any patch is replayed."
        )
    return len(_KNOWNS)


def _wrong(known: _Known) -> str | None:
    """What is wrong with the judge's answer."""
    patch = _patch(known)
    evidence = Replay({patch.id: _material(known)}).judge(Case(patch, None, known.base))
    better = evidence.measured is not None and evidence.measured.low > 0
    if (evidence.verdict, better) == (known.verdict, known.better):
        return None
    return f"{known.name}: {evidence.verdict.value}: {evidence.reason}"


def _material(known: _Known) -> Material:
    """Later sessions that fail in the four ways in turn, the first of them twice."""
    sessions = [
        LaterSession(
            f"later-{number}",
            (frozenset({("Bash", _ERRORS[0])}), frozenset({("Bash", _ERRORS[number % len(_ERRORS)])})),
        )
        for number in range(12)
    ]
    mine = [LaterSession(_OWN, (frozenset({("Bash", _ERRORS[0])}),))] if known.own else []
    return Material("round-0001", frozenset({_OWN}), ("round-0002",), (*sessions, *mine))


def _patch(known: _Known) -> Patch:
    """A patch that only carries the texts."""
    return Patch(
        id="p-self-test",
        group="self-test",
        skill="self-test",
        target_section="self-test",
        action=known.action,
        description=known.name,
        base_hash=section_hash(known.base),
        created=datetime(1970, 1, 1, tzinfo=UTC),
        body=known.body,
    )
