"""Hypotheses from several signs at once, as the table of syndromes has them. Never a certainty.

A hypothesis names the setting that it points to and gives no hint: patches come from patterns alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import training_finding
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.syndromes.signs import SIGNS, Look, Sign
from agent_evo_dagster.analysis.text import plural
from agent_evo_dagster.analysis.thresholds import Syndrome
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.errors import AnalysisError


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """Every syndrome of the table whose signs are there."""

    name: str = "syndrome"

    def find(self, run: Run) -> list[Finding]:
        """One finding for each syndrome, of the kind that the table calls it.

        Raises:
            AnalysisError: the table names a sign that does not exist.
        """
        found = []
        for name, syndrome in run.thresholds.syndromes.items():
            signs = {sign: _looked(sign, name)(run) for sign in syndrome.signs}
            seen = {sign for sign, look in signs.items() if look.seen}
            if len(seen) >= syndrome.least and seen >= set(syndrome.must):
                found.append(_finding(name, syndrome, signs, run))
        return found


def _looked(sign: str, syndrome: str) -> Look:
    if sign not in SIGNS:
        raise AnalysisError(
            f"The syndrome {syndrome!r} of the thresholds names the sign {sign!r}, which does not exist. "
            f"Signs: {', '.join(SIGNS)}."
        )
    return SIGNS[sign]


def _finding(name: str, syndrome: Syndrome, signs: Mapping[str, Sign], run: Run) -> Finding:
    seen = {sign: look for sign, look in signs.items() if look.seen}
    untold = [sign for sign, look in signs.items() if look.seen is None]
    move = syndrome.move
    # What was not logged speaks neither for nor against it.
    share = (len(seen) + len(untold) / 2) / len(signs)
    return training_finding(
        name,
        run,
        severity=Severity.WARNING,
        summary=f"perhaps {syndrome.words} ({len(seen)} of {plural(len(signs), 'sign')}): "
        + "; ".join(look.words for look in seen.values())
        + f"; look at {syndrome.look_at[0]}",
        series=tuple(look.series for look in seen.values()),
        confidence=run.thresholds.hypothesis_confidence * share,
        data={
            "seen": sorted(seen),
            "absent": sorted(sign for sign, look in signs.items() if look.seen is False),
            "not_logged": sorted(untold),
            "points_to": None if move is None else f"{move.direction} {move.setting}",
        },
        look_at=syndrome.look_at,
    )
