"""What a back-test lets one conclude, and what not, in sentences. No figure that it did not measure."""

from collections.abc import Iterator
from typing import Final

from agent_evo_dagster.analysis.backtest import Backtest, Rate
from agent_evo_dagster.analysis.text import plural

# Of what none of twenty sessions shows, as much as one in six may still have it; of two, two in three.
FEW: Final = 20
_WIDE: Final = 0.5  # an interval that leaves half of what a share can be open


def conclusions(result: Backtest) -> Iterator[str]:
    """What can be said of the findings after these sessions, then how much it rests on."""
    later = result.sessions[1]
    yield _named(result.coverage, later)
    yield _again(result.precision, later)
    yield _against_the_commonest(result)
    if later < FEW:
        yield (
            f"Only {plural(later, 'later session')}: this describes {'it' if later == 1 else 'them'}, and is "
            f"no measurement of findings. Come back with {FEW} later sessions or more, of work like yours."
        )


def _named(coverage: Rate, later: int) -> str:
    """Whether a failure had been named before it came."""
    if coverage.value is None or coverage.low is None or coverage.high is None:
        return (
            "Whether findings name failures before they come cannot be told: no later session has a failed "
            "call."
        )
    said = f"Earlier findings had named {coverage.hits} of {plural(coverage.of, 'later failed call')}"
    bounds = f"{_percent(coverage.low)} to {_percent(coverage.high)}"
    if later < FEW or coverage.high - coverage.low > _WIDE:
        return f"{said}. In other sessions the share may be anything from {bounds}: too few to conclude from."
    return f"{said}. In other sessions like these it is, 95 % sure, from {bounds}."


def _again(precision: Rate, later: int) -> str:
    """Whether what was found came again; more sessions only ever show more of it."""
    if precision.value is None:
        return "Whether findings come true cannot be told: the earlier sessions gave none."
    return (
        f"{precision.hits} of {plural(precision.of, 'earlier finding')} occurred again in the "
        f"{plural(later, 'later session')}. One that did not may do so in sessions that are not here."
    )


def _against_the_commonest(result: Backtest) -> str:
    """Whether findings are worth more than a list of the commonest errors."""
    gain, errors = result.coverage_gain, f"the {result.k} commonest errors"
    few = result.sessions[1] < FEW
    if few or gain.low is None or gain.high is None or gain.low <= 0 <= gain.high:
        return f"That findings name more later failures, or fewer, than {errors} do is not shown."
    more = "more" if gain.low > 0 else "fewer"
    return f"Findings named {more} of the later failures than {errors}, beyond the interval."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
