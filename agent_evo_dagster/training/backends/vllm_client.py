"""Requests to an inference server: tries, waits, and errors that say what to do. No rollouts."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_evo_dagster.errors import InferenceError
from agent_evo_dagster.extras import require
from agent_evo_dagster.training.backends.vllm_protocol import (
    ModelCard,
    completion_body,
    read_models,
    read_spread,
    read_turn,
)
from agent_evo_dagster.training.rollout.turns import Turn, TurnRequest

if TYPE_CHECKING:
    import httpx

PASSING = frozenset({408, 429, 502, 503, 504})  # worth another try
FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
RAW_TOLERANCE = 0.25  # relative; a temperature of 1/2 doubles the spread of processed log-probabilities
SHOWN_BYTES = 400


@dataclass(frozen=True)
class Patience:
    """How long to wait for an answer, and how often to ask again after a passing failure."""

    seconds: float
    retries: int
    sleep: Callable[[float], None] = time.sleep


class VllmClient:
    """One server. Safe to use from many threads; `close` it."""

    def __init__(self, url: str, *, patience: Patience, connections: int, api_key: str | None = None) -> None:
        httpx = require("httpx", extra="vllm", feature="inference with vLLM")
        self.url = url
        self._patience = patience
        self._http = httpx.Client(
            base_url=url,
            timeout=httpx.Timeout(patience.seconds, connect=min(patience.seconds, 10.0)),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            trust_env=False,  # a proxy of the environment must not see prompts
        )

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def healthy(self) -> bool:
        """Whether the server says that it can work. Never raises, never waits long."""
        import httpx

        try:
            return bool(self._http.get("/health", timeout=5.0).status_code == httpx.codes.OK)
        except httpx.HTTPError:
            return False

    def models(self) -> tuple[ModelCard, ...]:
        """What the server offers."""
        return read_models(self._ask("GET", "/v1/models", None))

    def sample(self, model: str, request: TurnRequest, *, temperature: float, seed: int, stop: int) -> Turn:
        """One sampled turn; `stop` is the end-of-turn id.

        Raises:
            InferenceError: the server refuses, fails, or answers what cannot be used.
        """
        body = completion_body(
            model, request.context, max_tokens=request.max_tokens, temperature=temperature, seed=seed,
            stop=stop,
        )  # fmt: skip
        return read_turn(self._ask("POST", "/v1/completions", body), request.context)

    def require_processed(self, model: str, prompt: tuple[int, ...], stop: int) -> None:
        """Make sure that log-probabilities are those of the distribution that was sampled from.

        Raises:
            InferenceError: they are of the raw logits, which differ at every temperature but 1.
        """
        spreads = []
        for temperature in (1.0, 0.5):
            body = completion_body(model, prompt, max_tokens=1, temperature=temperature, seed=0, stop=stop)
            body |= {"logprobs": 5, "return_tokens_as_token_ids": True}
            spreads.append(read_spread(self._ask("POST", "/v1/completions", body)))
        if spreads[0] <= 0 or abs(spreads[1] / spreads[0] - 2) > RAW_TOLERANCE:
            raise InferenceError(
                f"The log-probabilities of {self.url} do not follow the temperature (spread {spreads[0]:.4g} "
                f"at 1, {spreads[1]:.4g} at 0.5). Start it with --logprobs-mode processed_logprobs."
            )

    def load_weights(self, folder: Path) -> None:
        """Have the server load other weights of the same architecture, and forget what it had cached.

        Raises:
            InferenceError: it cannot.
        """
        body = {"method": "reload_weights", "kwargs": {"weights_path": str(folder)}}
        self._ask("POST", "/collective_rpc", body)
        self._ask("POST", "/reset_prefix_cache", None)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> bytes:
        import httpx

        problem, wait = "", 0.0
        for attempt in range(self._patience.retries + 1):
            if attempt:
                self._patience.sleep(wait)
            wait = min(FIRST_WAIT * 2**attempt, LONGEST_WAIT)
            try:
                response = self._http.request(method, path, json=body)
            except httpx.TransportError as error:
                problem = _transport_problem(error, self._patience.seconds)
                continue
            if response.status_code in PASSING:
                problem = f"status {response.status_code}: {_shown(response)}"
                wait = _asked_wait(response, wait)
                continue
            return _content(response, self.url + path)
        raise InferenceError(
            f"{self.url}{path} was asked {self._patience.retries + 1} times; at last {problem}. "
            "Is the server up, and is it large enough for the concurrency asked for?"
        )


def _transport_problem(error: "httpx.TransportError", seconds: float) -> str:
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return f"no answer within {seconds:g} s ({type(error).__name__})"
    return f"{type(error).__name__}: {error}"


def _asked_wait(response: "httpx.Response", wait: float) -> float:
    """The seconds of a Retry-After header, within bounds; a date there is not understood."""
    text = response.headers.get("Retry-After", "")
    return max(wait, min(float(text), LONGEST_WAIT)) if text.isdecimal() else wait


def _content(response: "httpx.Response", where: str) -> bytes:
    status = response.status_code
    if response.is_success:
        return response.content
    advice = {
        401: " Name the variable with its key in vllm.api_key_env.",
        403: " Name the variable with its key in vllm.api_key_env.",
        404: " Is this a vLLM server, with VLLM_SERVER_DEV_MODE=1 where weights are reloaded?",
        500: " The server's own log says why.",
    }.get(status, "")
    raise InferenceError(f"{where} answered with status {status}: {_shown(response)}.{advice}")


def _shown(response: "httpx.Response") -> str:
    return response.content[:SHOWN_BYTES].decode(errors="replace").strip() or "(nothing)"
