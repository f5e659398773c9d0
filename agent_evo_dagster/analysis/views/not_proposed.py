"""What findings asked for and no patch proposes, with the reason of each. No proposing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_evo_dagster.analysis.text import excerpt
from agent_evo_dagster.analysis.views.page import FindingView, Table

MOST = 40  # rows of the table
NOT_KEPT = "Not kept by the version that made the round."
_NONE = "Nothing that was asked for was left out."
_WORDS = {"prose": "advice", "made": "a patch that a person had made of others"}


@dataclass(frozen=True, slots=True)
class NotProposed:
    """One change that was asked for and is not proposed."""

    finding: str  # id of the finding, or of a patch that a person had made of others
    setting: str  # what it asks for: a setting, "prose", or "made"
    reason: str

    @property
    def wanted(self) -> str:
        """What it asks for, in words."""
        return _WORDS.get(self.setting, self.setting)


def not_proposed_table(kept: Sequence[NotProposed] | None, shown: Iterable[FindingView]) -> Table:
    """One row for each; `kept` is None where the round was made before that was kept."""
    said = {one.finding_id: f"{one.kind}: {one.summary}" for one in shown}
    rows = tuple(
        (excerpt(one.finding, 80), excerpt(said.get(one.finding, ""), 160), one.wanted, one.reason)
        for one in (kept or ())[:MOST]
    )
    left = f" (the first {MOST} of {len(kept)})" if kept and len(kept) > MOST else ""
    columns = ("Finding", "What it says", "Asked for", "Why not")
    return Table(f"Not proposed, and why{left}", columns, rows, empty=NOT_KEPT if kept is None else _NONE)
