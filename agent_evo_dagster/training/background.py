"""Work on a thread of its own, waited for up to a deadline. What the work is, is the caller's."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class DeadlineError(Exception):
    """The work was not done in time."""


class Background(Generic[Result]):
    """One call that has been started. Python cannot end a thread: what is late goes on, unheard."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self._done = threading.Event()
        self._began = time.monotonic()
        threading.Thread(target=self._run, name="background", daemon=True).start()

    def result(self, seconds: float | None) -> Result:
        """What the call returned, or raised.

        Args:
            seconds: Since its start; none: for as long as it takes.

        Raises:
            DeadlineError: it is not done by then.
        """
        left = None if seconds is None else max(0.0, self._began + seconds - time.monotonic())
        if not self._done.wait(left):
            raise DeadlineError(f"not done within {seconds:g} seconds")
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:  # raised again where the result is asked for
            self._error = error
        finally:
            self._done.set()
