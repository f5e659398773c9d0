"""How fast steps follow each other, and when they will be done. Whoever shows it has the clock."""

from collections import deque

WINDOW = 10  # steps that tell the pace: later ones take longer, as answers grow


class Pace:
    """Seconds for a step, from the times at which steps were seen to be done."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque(maxlen=WINDOW + 1)

    def see(self, step: int, now: float) -> None:
        """At `now` seconds, `step` steps are done; fewer than before: another part of the job began."""
        if self._seen and step < self._seen[-1][1]:
            self._seen.clear()
        if not self._seen or step > self._seen[-1][1]:
            self._seen.append((now, step))

    @property
    def seconds(self) -> float | None:
        """For one step; null until one was seen from its beginning to its end."""
        if len(self._seen) < 2:
            return None
        (began, first), (ended, last) = self._seen[0], self._seen[-1]
        return (ended - began) / (last - first)

    def left(self, steps: int, now: float) -> float | None:
        """Seconds until `steps` are done, if the pace holds."""
        each = self.seconds
        if each is None:
            return None
        at, step = self._seen[-1]
        return max(0.0, (steps - step) * each - (now - at))


def told(pace: Pace, steps: int | None, now: float) -> list[str]:
    """Pace and rest in words; nothing where nothing is known."""
    each, left = pace.seconds, pace.left(steps, now) if steps else None
    words = [] if each is None else [f"{each:.3g} s/step"]
    return words if left is None else [*words, f"{clock(left)} left"]


def clock(seconds: float) -> str:
    """A duration as `m:ss`, or `h:mm:ss`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
