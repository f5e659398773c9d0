"""Chat completions with a JSON schema, as OpenAI, vLLM and others offer them. No prompts, no retries."""

from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError

from agent_evo_dagster.analysts.budget import Meter
from agent_evo_dagster.analysts.forms import A
from agent_evo_dagster.analysts.http import Key, Request, post, require_http
from agent_evo_dagster.analysts.leniency import Lenient, problems
from agent_evo_dagster.analysts.types import Prompt, Reply
from agent_evo_dagster.errors import AnalystError

URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"


class _Message(Lenient):
    content: str | None = None
    refusal: str | None = None


class _Choice(Lenient):
    message: _Message
    finish_reason: str | None = None


class _Usage(Lenient):
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)


class _Completion(Lenient):
    choices: tuple[_Choice, ...] = Field(min_length=1, max_length=1)
    usage: _Usage | None = None
    model: str | None = None


@dataclass(frozen=True)
class OpenAiModel:
    """A model behind chat completions at `url`, which ends in /v1 as a rule."""

    model: str
    key: Key
    url: str = URL
    analyst: str = "openai"

    def ready(self) -> None:
        """Whether there is a key, where one is needed, and what sends a request.

        Raises:
            AnalystError: there is no key.
            MissingExtraError: httpx is not installed.
        """
        self.key.value()
        require_http()

    def ask(self, prompt: Prompt[A], meter: Meter) -> Reply:
        """One answer.

        Raises:
            AnalystError: refused, cut off, filtered, or no completion at all.
        """
        key = self.key.value()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = f"{self.url.rstrip('/')}/chat/completions"
        return _reply(post(Request(url, headers, self._body(prompt, meter), key), meter), meter)

    def _body(self, prompt: Prompt[A], meter: Meter) -> dict[str, Any]:
        turns = [
            {"role": "assistant" if number % 2 else "user", "content": text}
            for number, text in enumerate(prompt.turns)
        ]
        return {
            "model": self.model,
            "max_completion_tokens": meter.budget.output_tokens,
            "messages": [{"role": "system", "content": prompt.system}, *turns],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": prompt.form.name, "strict": True, "schema": prompt.form.schema()},
            },
        }


def _reply(answer: bytes, meter: Meter) -> Reply:
    try:
        completion = _Completion.model_validate_json(answer)
    except ValidationError as error:
        raise AnalystError(f"The answer is no chat completion: {problems(error)}.") from error
    choice, usage = completion.choices[0], completion.usage
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise AnalystError(
            "The model refused to answer. Look at what it was asked about, or use another model."
        )
    if choice.finish_reason == "length":
        raise AnalystError(f"The answer was cut off. {meter.budget.names.hint('OUTPUT_TOKENS')}")
    if choice.finish_reason != "stop":
        raise AnalystError(f"The model stopped for the reason {str(choice.finish_reason)[:60]!r}.")
    text = choice.message.content or ""
    read, written = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
    return Reply(text, read, written, model=completion.model)
