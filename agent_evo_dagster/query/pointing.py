"""Ids in findings and reports that other commands show: which one, as it is typed. Nothing is read."""

import re
import shlex
from typing import Final

from agent_evo_dagster.query.store import literal

_PATCH: Final = re.compile(r"p-[0-9a-f]{1,16}")
_ROUND: Final = re.compile(r"round-[0-9]{4,9}")
_METRIC: Final = re.compile(r"([^@]{1,200})@([0-9]{1,12})-([0-9]{1,12})")
_OF_ROLLOUTS: Final = {
    "rollouts.reward": "SELECT round, step, avg(reward) AS reward FROM rollouts "
    "WHERE step BETWEEN {first} AND {last} GROUP BY round, step ORDER BY round, step",
    "rollouts.equal_groups": "SELECT round, step, avg(same::INT) AS equal_groups FROM (SELECT round, step, "
    'count(DISTINCT reward) = 1 AS same FROM rollouts GROUP BY round, step, "group") '
    "WHERE step BETWEEN {first} AND {last} GROUP BY round, step ORDER BY round, step",
}
_OF_METRICS: Final = (
    "SELECT round, step, value FROM metrics WHERE name = {name} AND step BETWEEN {first} AND {last} "
    "ORDER BY round, step"
)


def pointed(one: str) -> str | None:
    """What the id stands for and the command that shows it; None where its form tells neither."""
    if _PATCH.fullmatch(one):
        return f"{one} is of a patch. It is shown by: agent-evo patches show {one}"
    if _ROUND.fullmatch(one):
        return f"{one} is of a round. It is shown by: agent-evo rounds show {one}"
    if metric := _METRIC.fullmatch(one):
        name, first, last = metric.groups()
        sql = _OF_ROLLOUTS.get(name, _OF_METRICS)
        query = sql.format(name=literal(name), first=int(first), last=int(last))
        return (
            f"{one} is of a metric of a training, and a range of its steps. It is shown, in each round, by: "
            f"agent-evo query {shlex.quote(query)}"
        )
    return None
