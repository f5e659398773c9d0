"""Which tasks may be used for what, told by the task's id alone. No tasks are made or stored here.

The split of a task is a property of its id, so that two processes, two rounds or two versions of a data
set can never disagree about it, and no list of held-out tasks has to be kept or passed around.
"""

import hashlib
from collections.abc import Iterable
from typing import Literal

from agent_evo_dagster.errors import EvaluationError

Split = Literal["train", "dev", "judge", "report"]

# Part of what is hashed. Another salt moves every task: never change it, add a second function instead.
_SALT = "agent-evo/split/1"

# Upper bounds in percent, in this order: 70 train, 10 dev, 10 judge, 10 report.
_BOUNDS: tuple[tuple[Split, int], ...] = (("train", 70), ("dev", 80), ("judge", 90), ("report", 100))


def split_of(task_id: str) -> Split:
    """The split that a task belongs to: 70 % train, 10 % each dev, judge and report.

    `train` feeds the optimiser and the proposals, `dev` is for looking, `judge` is for the gate alone, and
    `report` is what is published. The first 8 bytes of SHA-256 over salt and id, as a share of 2**64, decide.
    """
    digest = hashlib.sha256(f"{_SALT}\0{task_id}".encode("utf-8", "surrogatepass")).digest()
    hundredth = int.from_bytes(digest[:8], "big") * 100 >> 64
    return next(split for split, bound in _BOUNDS if hundredth < bound)


def strays(task_ids: Iterable[str], split: Split) -> list[str]:
    """The ids among `task_ids` that are not of `split`, sorted, each once."""
    return sorted({task for task in task_ids if split_of(task) != split})


def require_split(task_ids: Iterable[str], split: Split) -> None:
    """Refuse tasks of another split.

    Raises:
        EvaluationError: at least one task belongs elsewhere.
    """
    wrong = strays(task_ids, split)
    if wrong:
        shown = ", ".join(f"{task!r} ({split_of(task)})" for task in wrong[:5])
        raise EvaluationError(
            f"Tasks of the split {split!r} were asked for; {len(wrong)} belong to another: {shown}. "
            f"Choose the tasks with split_of(task_id) == {split!r}."
        )
