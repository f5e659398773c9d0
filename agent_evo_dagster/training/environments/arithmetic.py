"""The arithmetic environment: a calculator tool agent on generated problems, and its reward."""

from collections.abc import Mapping, Sequence

from agent_evo_dagster.training.environments.answers import format_number, parse_number, same_number
from agent_evo_dagster.training.environments.calculator import CalculatorError, calculate
from agent_evo_dagster.training.environments.problems import draw, problem
from agent_evo_dagster.training.environments.types import Reply, Score, Split, Task, ToolUse, components
from agent_evo_dagster.training.rollout.types import Limits
from agent_evo_dagster.training.tool_calls.types import JsonValue, ToolCall, ToolCallFormat

CALCULATE = "calculate"
FINISH = "finish"
TOOLS = frozenset({CALCULATE, FINISH})

CORRECT = 0.8
FINISHED = 0.1
TOOL_USED = 0.08
PROTOCOL = 0.02
MALFORMED = -0.03  # for each malformed call


class ArithmeticEnvironment:
    """Problems from `problems`, attempted with the tools `calculate` and `finish`."""

    limits: Limits = Limits(max_turns=3, max_new_tokens=40, max_completion_length=96)
    reward_names: Sequence[str] = ("correct", "finished", "tool_used", "protocol", "malformed")

    def __init__(self, call_format: ToolCallFormat) -> None:
        self._format = call_format

    def tasks(self, split: Split, count: int, seed: int) -> list[Task]:
        """The first `count` problems of the split's stream for `seed`."""
        return draw(split, count, seed)

    def task(self, task_id: str) -> Task:
        """The problem with this id."""
        return problem(task_id)

    def episode(self, task: Task) -> "ArithmeticEpisode":
        """A new attempt at `task`."""
        return ArithmeticEpisode(task, self._format)


class ArithmeticEpisode:
    """One attempt at one problem. A turn without any call ends it without an answer."""

    def __init__(self, task: Task, call_format: ToolCallFormat) -> None:
        self.task = task
        self._format = call_format
        self._answer: str | None = None
        self._calls = 0
        self._calculated = 0
        self._malformed = 0
        self._refused = 0

    def opening(self) -> list[dict[str, str]]:
        """The question."""
        return [{"role": "user", "content": self.task.question}]

    def act(self, text: str) -> Reply:
        """Execute the calls of one turn; a malformed one gets its fault as its result."""
        items = self._format.parse(text, TOOLS).items
        results = []
        for item in items:
            if isinstance(item, ToolCall):
                results.append(self._execute(item))
            else:
                self._malformed += 1
                results.append(item.message)
            if self._answer is not None:
                break
        return Reply(tuple(results), done=not items or self._answer is not None)

    def _execute(self, call: ToolCall) -> str:
        wanted = "response" if call.name == FINISH else "expression"
        argument = _text(call.arguments, wanted)
        if argument is None:
            self._malformed += 1
            return f"Error: {call.name} needs {wanted}"
        self._calls += 1
        if call.name == FINISH:
            self._answer = argument
            return ""
        try:
            result = format_number(calculate(argument))
        except CalculatorError as error:
            self._refused += 1
            return f"Error: {error}"
        self._calculated += 1
        return result

    def score(self) -> Score:
        """Reward components of what has happened so far."""
        correct = same_number(self._answer, self.task.answer)
        finished = self._answer is not None and parse_number(self._answer) is not None
        parts = components(
            correct=CORRECT * correct,
            finished=FINISHED * finished,
            tool_used=TOOL_USED * bool(self._calculated),
            protocol=PROTOCOL * (self._calls > 0 and not self._malformed),
            malformed=MALFORMED * self._malformed,
        )
        return Score(parts, correct)

    def tool_use(self) -> ToolUse:
        """Counts of well-formed calls, and of calls that were malformed or refused."""
        return ToolUse(calls=self._calls, errors=self._malformed + self._refused)


def _text(arguments: Mapping[str, JsonValue], name: str) -> str | None:
    """The argument as text; numbers are accepted, other JSON is not."""
    value = arguments.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:  # an integer beyond the interpreter's limit of digits
        return None
