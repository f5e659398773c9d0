"""The Messages API of Anthropic, as an analyst asks it. No prompts, no retries."""

from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError

from agent_evo_dagster.analysts.budget import Meter
from agent_evo_dagster.analysts.forms import A
from agent_evo_dagster.analysts.http import Key, Request, post, require_http
from agent_evo_dagster.analysts.leniency import Lenient, problems
from agent_evo_dagster.analysts.types import Prompt, Reply
from agent_evo_dagster.errors import AnalystError

URL = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
_VERSION = "2023-06-01"


class _Block(Lenient):
    type: str
    text: str | None = None


class _Usage(Lenient):
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cache_creation_input_tokens: int | None = Field(None, ge=0)
    cache_read_input_tokens: int | None = Field(None, ge=0)


class _Message(Lenient):
    content: tuple[_Block, ...]
    stop_reason: str | None
    usage: _Usage
    model: str | None = None


@dataclass(frozen=True)
class AnthropicModel:
    """A model behind the Messages API at `url`."""

    model: str
    key: Key
    url: str = URL
    analyst: str = "anthropic"

    def ready(self) -> None:
        """Whether there is a key, and what sends a request.

        Raises:
            AnalystError: there is no key.
            MissingExtraError: httpx is not installed.
        """
        self.key.value()
        require_http()

    def ask(self, prompt: Prompt[A], meter: Meter) -> Reply:
        """One answer.

        Raises:
            AnalystError: refused, cut off, or no message at all.
        """
        key = self.key.value()
        headers = {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}
        url = f"{self.url.rstrip('/')}/v1/messages"
        return _reply(post(Request(url, headers, self._body(prompt, meter), key), meter), meter)

    def _body(self, prompt: Prompt[A], meter: Meter) -> dict[str, Any]:
        return {
            "model": self.model,
            "max_tokens": meter.budget.output_tokens,
            "system": prompt.system,
            "messages": [
                {"role": "assistant" if number % 2 else "user", "content": text}
                for number, text in enumerate(prompt.turns)
            ],
            "output_config": {"format": {"type": "json_schema", "schema": prompt.form.schema()}},
        }


def _reply(answer: bytes, meter: Meter) -> Reply:
    try:
        message = _Message.model_validate_json(answer)
    except ValidationError as error:
        raise AnalystError(f"The answer is no message of the Messages API: {problems(error)}.") from error
    if message.stop_reason == "refusal":
        raise AnalystError(
            "The model refused to answer. Look at what it was asked about, or use another model."
        )
    if message.stop_reason == "max_tokens":
        raise AnalystError(
            f"The answer was cut off after {message.usage.output_tokens} tokens. "
            f"{meter.budget.names.hint('OUTPUT_TOKENS')}"
        )
    if message.stop_reason not in ("end_turn", "stop_sequence"):
        raise AnalystError(f"The model stopped for the reason {str(message.stop_reason)[:60]!r}.")
    usage = message.usage
    cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
    text = "".join(block.text or "" for block in message.content if block.type == "text")
    return Reply(text, usage.input_tokens + cached, usage.output_tokens, model=message.model)
