"""The two seams of analysts: who analyses, and which model answers. No analyst, no model."""

from collections.abc import Callable
from typing import Protocol

from agent_evo_dagster.analysts.budget import Meter
from agent_evo_dagster.analysts.forms import A
from agent_evo_dagster.analysts.types import Analysis, Material, Prompt, Reply

Tell = Callable[[str], None]


class Analyst(Protocol):
    """Turns a round's findings into drafts of patches."""

    def analyse(self, material: Material, tell: Tell) -> Analysis:
        """Analyse; `tell` is given a line for people before anything is spent.

        Raises:
            AnalystError: it could not be done as asked; nothing else is done instead.
        """


class Model(Protocol):
    """A service that answers a prompt with JSON."""

    @property
    def analyst(self) -> str:
        """The name of the analyst that asks it."""

    @property
    def model(self) -> str | None:
        """Which model; None: the one that the service chooses."""

    def ready(self) -> None:
        """Look whether it can be asked at all, at no cost.

        Raises:
            AnalystError: a key or a program is missing.
        """

    def ask(self, prompt: Prompt[A], meter: Meter) -> Reply:
        """One answer; every try is counted by `meter`.

        Raises:
            AnalystError: refused, cut off, not reachable, or out of budget.
        """
