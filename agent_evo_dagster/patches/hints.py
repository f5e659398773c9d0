"""From a finding's hint to a value of a setting. No sections, no patches."""

import json
import math

from agent_evo_dagster.analysis.types import SettingHint
from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.settings_block import SettingSpec

# A factor cannot move a setting that is 0; a raise then starts at this share of its maximum.
_FROM_ZERO = 0.05


def read_hint(text: str, *, origin: str) -> SettingHint:
    """The hint in a finding's `hint` column.

    Raises:
        PatchError: not a hint, or a factor that moves nothing.
    """
    try:
        fields = json.loads(text)
        hint = SettingHint(
            str(fields["setting"]), fields["direction"], float(fields["factor"]), str(fields["why"])
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise PatchError(
            f"{origin}: the hint is {text[:200]!r}; it must be JSON with setting, direction, factor and why."
        ) from error
    if hint.direction not in ("raise", "lower") or not math.isfinite(hint.factor) or hint.factor <= 1:
        raise PatchError(
            f"{origin}: the hint says {hint.direction!r} by {hint.factor}; "
            f"it must say raise or lower, by more than 1."
        )
    return hint


def moved(spec: SettingSpec, hint: SettingHint) -> int | float:
    """The value that `hint` moves the setting to: two significant digits, within its bounds.

    The default itself where rounding would undo the move, or turn it round.
    """
    if spec.default == 0 and hint.direction == "raise":
        target = _FROM_ZERO * spec.max
    else:
        target = spec.default * hint.factor if hint.direction == "raise" else spec.default / hint.factor
    whole = all(isinstance(number, int) for number in (spec.default, spec.min, spec.max))
    value: int | float = readable(target)
    if whole:
        value = math.ceil(value) if hint.direction == "raise" else math.floor(value)
    value = max(spec.min, min(spec.max, value))
    return max(spec.default, value) if hint.direction == "raise" else min(spec.default, value)


def readable(value: float) -> float:
    """`value` with two significant digits."""
    return float(f"{value:.1e}")
