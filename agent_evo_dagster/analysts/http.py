"""Requests to a model's service: bounded in time and size, tried again where that may help. No protocol.

Keys come from the environment when they are needed, and stand in no message.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agent_evo_dagster.analysts.budget import Meter, Names
from agent_evo_dagster.errors import AnalystBudgetError, AnalystError
from agent_evo_dagster.extras import require
from agent_evo_dagster.patches.hidden import visible

if TYPE_CHECKING:
    import ssl

    import httpx

MAX_ANSWER = 8 * 1024 * 1024  # bytes
SHOWN = 300
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
PASSING = frozenset({408, 409, 429, 500, 502, 503, 504, 529})  # worth another try
_ADVICE = {
    401: " Is the key right?",
    403: " May the key use this model?",
    404: " Is the base URL right ({0}_URL), and the model's name ({0}_MODEL)?",
}


@dataclass(frozen=True, slots=True)
class Key:
    """Where a service's key is found: a variable of the environment; None: the service needs none."""

    variable: str | None
    names: Names

    def value(self) -> str | None:
        """The key.

        Raises:
            AnalystError: the variable is not set.
        """
        if self.variable is None:
            return None
        found = os.environ.get(self.variable, "").strip()
        if not found or not found.isascii() or not found.isprintable():
            what = "is not set" if not found else "holds what cannot be a key"
            raise AnalystError(
                f"{self.names.work} needs a key, and the variable {self.variable} {what}. Set it, name "
                f"another in {self.names.prefix}_KEY_ENV (none: a server without keys), or "
                f"{self.names.instead}."
            )
        return found


@dataclass(frozen=True, slots=True)
class Request:
    """A request; `key` is in its headers, and blotted out wherever it comes back."""

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    key: str | None = None


def post(request: Request, meter: Meter) -> bytes:
    """The body of the answer to a request.

    Raises:
        AnalystError: the service cannot be reached, refuses, or answers too much.
        AnalystBudgetError: calls or time are spent.
    """
    httpx = require_http()
    wait = FIRST_WAIT
    with httpx.Client(
        trust_env=False, verify=_trusted()
    ) as client:  # a proxy of the environment must not see prompts
        while True:
            answer = _try(client, request, meter)
            if 200 <= answer.status < 300:
                return answer.content
            said = f"status {answer.status}: " if answer.status else ""
            said += _shown(answer.content, request.key)
            if answer.status and answer.status not in PASSING:
                raise AnalystError(f"{request.url} answered with {said}.{_advice(answer.status, meter)}")
            meter.wait(_wait(answer.retry_after, wait), f"{said} ({request.url})")
            wait = min(2 * wait, LONGEST_WAIT)


def require_http() -> ModuleType:
    """What sends requests.

    Raises:
        MissingExtraError: it is not installed.
    """
    return require("httpx", extra="vllm", feature="A model that is asked by HTTP")


@lru_cache
def _trusted() -> "ssl.SSLContext":
    """Whose certificates are trusted; it takes long to read."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int  # 0: the connection broke, and `content` says how
    retry_after: str | None
    content: bytes


def _try(client: "httpx.Client", request: Request, meter: Meter) -> _Answer:
    """One try within the time that is left; a connection that breaks is worth another."""
    import httpx

    seconds = meter.begin()
    try:
        return _once(client, request, meter, seconds)
    except httpx.TimeoutException:
        raise AnalystBudgetError(
            f"{request.url} gave no whole answer within the {seconds:.3g} s that were left. "
            f"{meter.budget.names.hint('SECONDS')}"
        ) from None
    except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
        return _Answer(0, None, f"{type(error).__name__}: {error}".encode())
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        told = _shown(f"{type(error).__name__}: {error}".encode(), request.key)
        raise AnalystError(
            f"{request.url} cannot be asked: {told}. Look at {meter.budget.names.prefix}_URL."
        ) from None


def _once(client: "httpx.Client", request: Request, meter: Meter, seconds: float) -> _Answer:
    """The answer to one try, all of it within `seconds`: a server may drip."""
    import httpx

    content = bytearray()
    timeout = httpx.Timeout(seconds, connect=min(seconds, 15.0))
    headers, body = dict(request.headers), dict(request.body)
    with client.stream("POST", request.url, headers=headers, json=body, timeout=timeout) as response:
        for part in response.iter_bytes():
            content += part
            if len(content) > MAX_ANSWER:
                raise AnalystError(
                    f"{request.url} answers with more than {MAX_ANSWER} bytes, which no analysis has."
                )
            if meter.left() <= 0:
                raise httpx.ReadTimeout("the answer takes too long")
        return _Answer(response.status_code, response.headers.get("Retry-After"), bytes(content))


def _advice(status: int, meter: Meter) -> str:
    return _ADVICE.get(status, "").format(meter.budget.names.prefix)


def _wait(asked: str | None, wait: float) -> float:
    """The seconds that a Retry-After header asks for, else `wait`; a date there is not understood."""
    try:
        seconds = float(asked or "")
    except ValueError:
        return wait
    return max(wait, seconds) if 0 <= seconds < 1e6 else wait


def _shown(content: bytes, key: str | None) -> str:
    """The beginning of an answer, fit to be shown."""
    text = content[: 4 * SHOWN].decode(errors="replace").strip()
    return visible((text.replace(key, "[key]") if key else text)[:SHOWN]) or "nothing"
