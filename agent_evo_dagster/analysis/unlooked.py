"""Patterns of trouble that could not be looked for in a run, and for want of what. No pattern of its own."""

from collections.abc import Iterator, Mapping
from typing import Final

from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.syndromes.signs import SIGNS
from agent_evo_dagster.analysis.thresholds import Syndrome

_ROLLOUTS: Final = "rollouts"
# What each pattern needs, by the names of the thresholds table; of names that stand together, one is enough.
_NEEDS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "no_learning": (("reward",),),
    "collapse": (("reward",),),
    "kl_divergence": (("kl",),),
    "mode_collapse": (("entropy",), ("reward",)),
    "length_runaway": (("length",),),
    "gradient_explosion": (("grad_norm", "loss", "kl"),),
    "turn_limit": (("aborted", _ROLLOUTS),),
    "held_out_gap": (("held_out",), ("reward",)),
    "clip_fraction_high": (("clip_fraction",),),
    "clip_fraction_low": (("clip_fraction",), ("kl",), ("reward",)),
    "zero_variance_groups": (("zero_variance",),),
    "truncation": (("truncated", _ROLLOUTS),),
}


def not_looked_for(run: Run) -> dict[str, tuple[str, ...]]:
    """Pattern -> what was missing, in words with the columns that would have it; empty: nothing was."""
    missing = {pattern: tuple(_missing(needs, run)) for pattern, needs in _NEEDS.items()}
    if not run.ending.log and run.ending.exit_code is None:
        missing["out_of_memory"] = ("no text log beside the metrics, and no --exit-code",)
    missing |= {name: tuple(_untold(one, run)) for name, one in run.thresholds.syndromes.items()}
    return {pattern: words for pattern, words in missing.items() if words}


def _missing(needs: tuple[tuple[str, ...], ...], run: Run) -> Iterator[str]:
    for names in needs:
        if not any(_has(name, run) for name in names):
            yield " and ".join(
                f"{name} not logged{_columns(name, run)}" for name in names if name != _ROLLOUTS
            )


def _has(name: str, run: Run) -> bool:
    if name == _ROLLOUTS:
        return run.rollouts.rollouts > 0
    series = run.get(name)
    return bool(series) or bool(series.broken)


def _untold(syndrome: Syndrome, run: Run) -> Iterator[str]:
    """What its signs lack, where too few of them can be told, or one that it must have cannot."""
    looks = {sign: SIGNS[sign](run) for sign in syndrome.signs if sign in SIGNS}
    untold = {sign for sign, look in looks.items() if look.seen is None}
    if len(looks) - len(untold) >= syndrome.least and not untold & set(syndrome.must):
        return
    for words in dict.fromkeys(looks[sign].words for sign in syndrome.signs if sign in untold):
        yield f"{words}{_columns(words.removesuffix(' not logged'), run)}"


def _columns(name: str, run: Run) -> str:
    """The names under which a log may have it."""
    aliases = run.thresholds.names.get(name)
    return f" ({', '.join(aliases)})" if aliases else ""
