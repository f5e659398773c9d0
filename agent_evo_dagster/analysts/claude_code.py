"""Claude Code as an analyst's model: one answer of a client without tools in an empty folder. No retries."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.analysts.budget import ANALYSIS, Meter, Names
from agent_evo_dagster.analysts.client import Result, find_client, read_result, run_client
from agent_evo_dagster.analysts.client_environment import whole
from agent_evo_dagster.analysts.forms import A
from agent_evo_dagster.analysts.types import Prompt, Reply
from agent_evo_dagster.errors import AnalystBudgetError, AnalystError, ClientError
from agent_evo_dagster.patches.hidden import visible

MAX_TURNS = 4  # the client gives structured output by a tool of its own, which takes a turn


@dataclass(frozen=True)
class ClaudeCodeModel:
    """The client on PATH, with its own login; `model` is None for the client's own choice."""

    model: str | None = None
    analyst: str = "claude_code"
    names: Names = ANALYSIS  # of the work that it is asked for

    def ready(self) -> None:
        """Whether the client is here.

        Raises:
            ClientError: it is not.
        """
        find_client(self.names.instead)

    def ask(self, prompt: Prompt[A], meter: Meter) -> Reply:
        """One answer.

        Raises:
            AnalystError: it failed, or stopped at a bound.
            ClientError: there is no client, or no result of it.
        """
        seconds = meter.begin()
        with tempfile.TemporaryDirectory(prefix="agent-evo-analyst-") as folder:
            ended = run_client(
                self._arguments(prompt, meter.money_left()),
                prompt=_spoken(prompt),
                folder=Path(folder),
                seconds=seconds,
                env={**whole(), "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(meter.budget.output_tokens)},
            )
        try:
            result = read_result(ended)
        except ClientError as error:
            said = f"{error} {meter.budget.names.prefix}_SECONDS bounds it."
            raise (AnalystBudgetError if ended.timed_out else AnalystError)(said) from error
        return _reply(result, meter.budget.names)

    def _arguments(self, prompt: Prompt[A], money: float | None) -> list[str]:
        """No tool, no skill, no server, no settings of the user or a project, and nothing kept."""
        arguments = ["-p", "--output-format", "json", "--tools", "", "--strict-mcp-config"]
        arguments += ["--setting-sources", "", "--disable-slash-commands", "--no-session-persistence"]
        arguments += ["--permission-mode", "dontAsk", "--max-turns", str(MAX_TURNS)]
        arguments += ["--system-prompt", prompt.system, "--json-schema", json.dumps(prompt.form.schema())]
        if money is not None:
            arguments += ["--max-budget-usd", f"{money:.6f}"]
        return [*arguments, "--model", self.model] if self.model else arguments


def _spoken(prompt: Prompt[A]) -> str:
    """The turns as one message: a client without a session has no others."""
    first, *rest = prompt.turns
    answered = [f"Your answer was:\n{text}" if number % 2 == 0 else text for number, text in enumerate(rest)]
    return "\n\n".join([first, *answered])


def _reply(result: Result, names: Names) -> Reply:
    if result.is_error or result.subtype != "success":
        said = visible((result.result or "")[:300])
        raise AnalystError(
            f"Claude Code gave no answer: {visible(result.subtype[:60])}{f': {said}' if said else ''}. "
            f"Its bounds are {names.prefix}_MONEY and {names.prefix}_OUTPUT_TOKENS; log in: claude."
        )
    told = result.structured_output
    text = (result.result or "") if told is None else json.dumps(told)
    models = ", ".join(sorted(result.models)) or None
    return Reply(text, result.usage.read, result.usage.output_tokens, result.total_cost_usd, models)
