"""The completions protocol of vLLM as it is used here: token ids in, token ids and log-probabilities out."""

import math
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.errors import InferenceError
from agent_evo_dagster.training.rollout.turns import Turn


class _Lenient(BaseModel):
    """Part of an answer: what is not named here belongs to other clients."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Logprobs(_Lenient):
    token_logprobs: tuple[float | None, ...]
    top_logprobs: tuple[dict[str, float] | None, ...] | None = None


class _Choice(_Lenient):
    token_ids: tuple[int, ...] | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Completion(_Lenient):
    choices: tuple[_Choice, ...] = Field(min_length=1, max_length=1)


class ModelCard(_Lenient):
    """A model that a server offers; `root` is the folder or name that it was loaded from."""

    id: str
    root: str | None = None
    max_model_len: int | None = None


class ModelList(_Lenient):
    """Answer of `/v1/models`."""

    data: tuple[ModelCard, ...]


def completion_body(
    model: str, prompt: Sequence[int], *, max_tokens: int, temperature: float, seed: int, stop: int
) -> dict[str, Any]:
    """A request for one completion. Nothing that shapes the distribution is left to the server's defaults."""
    return {
        "model": model,
        "prompt": list(prompt),
        "max_tokens": max_tokens,
        "temperature": temperature,
        "seed": seed,
        "top_p": 1.0,
        "top_k": -1,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "n": 1,
        "ignore_eos": True,  # the one stop rule is the end of the turn
        "stop_token_ids": [stop],
        "logprobs": 1,
        "return_token_ids": True,
    }


def read_turn(answer: bytes, prompt: Sequence[int]) -> Turn:
    """The sampled turn in an answer to `completion_body`.

    Raises:
        InferenceError: the answer lacks something, or is not about `prompt`.
    """
    choice = _choice(answer)
    if choice.token_ids is None or choice.prompt_token_ids is None:
        raise InferenceError(
            "The server gives no token ids (return_token_ids), so its text cannot be trained on. vLLM gives "
            "them since 0.10.2."
        )
    if choice.prompt_token_ids != tuple(prompt):
        raise InferenceError(
            f"The server was sent {len(prompt)} token ids and answered to {len(choice.prompt_token_ids)} "
            "others: something between encodes prompts again."
        )
    if choice.finish_reason not in ("stop", "length"):
        raise InferenceError(f"The server ended a completion for the reason {choice.finish_reason!r}.")
    return Turn(choice.token_ids, _sampled_logprobs(choice))


def read_spread(answer: bytes) -> float:
    """Distance between the largest and the smallest log-probability offered for the first token.

    Raises:
        InferenceError: the answer has none.
    """
    logprobs = _choice(answer).logprobs
    offered = (logprobs.top_logprobs or (None,))[0] if logprobs else None
    if not offered or len(offered) < 2:
        raise InferenceError("The server gives no log-probabilities of alternatives (logprobs).")
    return max(offered.values()) - min(offered.values())


def read_models(answer: bytes) -> tuple[ModelCard, ...]:
    """The models in an answer of `/v1/models`.

    Raises:
        InferenceError: it is no such answer.
    """
    try:
        return ModelList.model_validate_json(answer).data
    except ValidationError as error:
        raise InferenceError(f"/v1/models is no list of models: {_problems(error)}.") from error


def _choice(answer: bytes) -> _Choice:
    try:
        return _Completion.model_validate_json(answer).choices[0]
    except ValidationError as error:
        raise InferenceError(f"The server's answer is no completion: {_problems(error)}.") from error


def _sampled_logprobs(choice: _Choice) -> tuple[float, ...]:
    ids = choice.token_ids or ()
    if choice.logprobs is None:
        raise InferenceError("The server gives no log-probabilities, without which nothing can be trained.")
    given = choice.logprobs.token_logprobs
    if len(given) != len(ids):
        raise InferenceError(f"The server gives {len(given)} log-probabilities for {len(ids)} tokens.")
    values = tuple(value for value in given if value is not None and math.isfinite(value) and value <= 1e-3)
    if len(values) != len(given):
        raise InferenceError(f"The server gives log-probabilities that are none: {list(given)[:8]}.")
    return values


def _problems(error: ValidationError) -> str:
    details = error.errors(include_url=False, include_input=False)[:3]
    return "; ".join(f"{'.'.join(map(str, detail['loc'])) or 'body'}: {detail['msg']}" for detail in details)
