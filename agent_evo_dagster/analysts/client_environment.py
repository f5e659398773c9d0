"""The environment of the Claude Code client: all of this one, or what its login needs. No files."""

import os
import re
from collections.abc import Mapping
from typing import Final

# Set by a client for what it starts: a client that is itself started by one takes itself for a part of it.
_OF_A_CLIENT: Final = frozenset({"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"})
QUIET: Final = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
}
_PLUMBING: Final = re.compile(
    r"PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|USER|LOGNAME|SHELL"
    r"|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|(?i:https?_proxy|no_proxy)"
)
_LOGIN: Final = re.compile(
    r"ANTHROPIC_[A-Z0-9_]+|CLAUDE_CODE_OAUTH_TOKEN|CLAUDE_CODE_USE_[A-Z]+|CLAUDE_CODE_SKIP_[A-Z]+_AUTH"
)
# The keys of a cloud go along only where the client is told to log in by it.
_CLOUDS: Final = {
    "CLAUDE_CODE_USE_BEDROCK": re.compile(r"AWS_[A-Z0-9_]+"),
    "CLAUDE_CODE_USE_VERTEX": re.compile(r"(?:GOOGLE|CLOUD_ML|VERTEX)_[A-Z0-9_]+"),
}


def whole() -> dict[str, str]:
    """All of this process's environment, for a client that is to work as its user would."""
    return {name: value for name, value in os.environ.items() if name not in _OF_A_CLIENT}


def login_alone(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a client needs to start and to log in; no other key, path or setting of the user."""
    found = os.environ if environment is None else environment
    wanted = [_PLUMBING, _LOGIN, *(names for switch, names in _CLOUDS.items() if found.get(switch))]
    return {name: value for name, value in found.items() if any(one.fullmatch(name) for one in wanted)}
