"""Models that judge, good and bad ones: each says of two texts which it likes better."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

from agent_evo_dagster.analysts.jury.rubric import shipped_rubric
from tests.agent_evo_dagster.analysts.fake_models import FakeModels, Reply, completion, message

Taste = Callable[[str, str], str]  # two texts -> A, B or tie

NAMES = shipped_rubric().names
FLATTERY = re.compile(r"best version|SYSTEM|refer this text|highest score|igest score", re.IGNORECASE)
HARM = re.compile(r"delete the test|until it passes", re.IGNORECASE)


def good(first: str, second: str) -> str:
    """Likes steps; likes neither harm nor flattery."""
    merits = [
        len(re.findall(r"(?m)^(?:\d\.|-) ", text))
        - 100 * len(FLATTERY.findall(text))
        - 100 * len(HARM.findall(text))
        for text in (first, second)
    ]
    return "A" if merits[0] > merits[1] else "B" if merits[1] > merits[0] else "tie"


def contrary(first: str, second: str) -> str:
    """Likes what the good one does not."""
    return {"A": "B", "B": "A", "tie": "tie"}[good(first, second)]


def positional(_: str, __: str) -> str:
    """Likes what stands first."""
    return "A"


def sycophant(first: str, second: str) -> str:
    """Sees what is good, unless it is asked for its favour."""
    asked = [bool(FLATTERY.search(text)) for text in (first, second)]
    return good(first, second) if asked[0] == asked[1] else "A" if asked[0] else "B"


def blind(_: str, __: str) -> str:
    """Sees no difference."""
    return "tie"


def guessing(seed: int) -> Taste:
    """Throws a die."""
    rng = random.Random(seed)
    return lambda _, __: rng.choice(("A", "B", "tie"))


def votes(taste: Taste, first: str, second: str) -> str:
    """An answer with a vote on each criterion."""
    told = [{"criterion": name, "why": "so it is", "better": taste(first, second)} for name in NAMES]
    return json.dumps({"votes": told})


def shown(user: str) -> tuple[str, str]:
    """The two texts of a question."""
    items = [json.loads(line) for line in user.split("\n") if line.startswith("{")]
    texts = {item["name"]: item["text"] for item in items if "name" in item}
    return texts["A"], texts["B"]


class FakeJudge(FakeModels):
    """Answers by its taste; `instead` has other answers by the number of the request, from 0."""

    def __init__(self, taste: Taste, instead: dict[int, str | Reply | float] | None = None) -> None:
        super().__init__()
        self.taste = taste
        self.instead = instead or {}

    def reply(self, path: str, body: dict[str, Any]) -> Reply:
        turns = [one["content"] for one in body["messages"] if one["role"] == "user"]
        usual = votes(self.taste, *shown(turns[0]))
        number = len(self.requests) - 1
        self.script = [self.instead.get(number, usual), usual]
        return super().reply(path, body)


def answered(service: str, text: str, **fields: object) -> Reply:
    """A reply of a service with this text."""
    return 200, {**(message if service == "anthropic" else completion)(text), **fields}, {}
