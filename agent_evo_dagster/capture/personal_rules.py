"""Personal data that redaction takes out where the settings ask for it. Not secrets: those always go."""

import re
from typing import Final

from agent_evo_dagster.capture.secret_rules import Rule

_GROUP: Final = "[0-9a-fA-F]{1,4}"
_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"

# By the names that the settings know.
PERSONAL_RULES: Final[dict[str, Rule]] = {
    "email": Rule(
        "email",
        ("@",),
        re.compile(
            r"(?<![A-Za-z0-9._%+-])(?!git@)[A-Za-z0-9._%+-]{1,64}"
            r"@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9-])"
        ),
        r"[A-Za-z0-9._%+-]@[A-Za-z0-9-]+\.[A-Za-z]",
    ),
    "ip": Rule(
        "ip",
        (".", ":"),
        re.compile(
            # addresses that name no machine, as 127.0.0.1, stay
            rf"(?<![\w.])(?!127\.|0\.0\.0\.0|255\.)(?:{_OCTET}\.){{3}}{_OCTET}(?!\w|\.[0-9])"
            rf"|(?<![\w:.])(?:{_GROUP}:){{7}}{_GROUP}(?![\w:])"
            rf"|(?<![\w:.])(?=[a-fA-F:]{{0,40}}[0-9])(?:{_GROUP}:){{1,6}}(?::{_GROUP}){{1,6}}(?![\w:])"
        ),
        rf"[0-9]\.[0-9]{{1,3}}\.[0-9]{{1,3}}\.[0-9]|{_GROUP}::{_GROUP}|(?:{_GROUP}:){{7}}{_GROUP}",
    ),
    "home": Rule(
        "home",
        ("home", "users"),
        re.compile(
            r"(?:/home/|/Users/|\b[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/)|(?<![\w-])-(?:home|Users)-)"
            r"""(?P<s>(?<=-)[A-Za-z0-9]{1,64}|(?<!-)[^\s/\\"'`<>:;,|()*$]{1,64})"""
        ),
        "home|Users",
    ),
}
