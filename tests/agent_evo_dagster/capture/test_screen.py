"""The screen before redaction: a line that it passes over holds nothing that a rule would take."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.capture.fields import parse
from agent_evo_dagster.capture.personal_rules import PERSONAL_RULES
from agent_evo_dagster.capture.redact import RedactionKey, redact_value, rules_of
from agent_evo_dagster.capture.screen import rules_called_for, screen_of
from tests.agent_evo_dagster.capture.spools import KEY
from tests.agent_evo_dagster.capture.test_redact import CONTEXT_SECRET, IN_CONTEXT, SECRETS, WHOLE

ALL = RedactionKey(KEY)
ALL.personal = tuple(PERSONAL_RULES)

VALUES = st.sampled_from([CONTEXT_SECRET, "a1 b2", "x" * 40, "203.0.113.7", *(secret for _, secret in WHOLE)])
# fmt: off
NAMES = st.sampled_from([
    "password", "Passwd", "SECRET", "api_key", "API-KEY-ID", "accessToken", "passwords", "auth_tokens",
    "--api-key", "--\u017fecret", "--ap\u0131-to\u212aen", "-u sam:", "--user", "-pass pass:", "login",
    "Authorization", "author\u0131zation authorization", "bearer", "redis-cli", "mysql -p", "sshpass -p",
    "https://sam", "://", "sig", "?sig", "\\\\Users\\", "/home/", "sam@", "fe80::",
])
# fmt: on
JOINTS = st.text(st.sampled_from(" \t\n\r\f\v\b\x1c\x85\xa0\u2003\u3000=::@/\"'\\n-"), max_size=6)
CHUNKS = st.tuples(NAMES | st.text(max_size=4), JOINTS, VALUES | st.text(max_size=9), JOINTS).map("".join)
TEXTS = st.lists(CHUNKS, min_size=1, max_size=3).map("".join) | st.sampled_from(IN_CONTEXT).map(
    lambda text: text.replace("{}", CONTEXT_SECRET)
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A JSON line with texts that are nearly secrets, in fields and names, quoted again and again."""
    value: object = {draw(NAMES | TEXTS): draw(TEXTS), "b": [draw(TEXTS), 1, None]}
    for _ in range(draw(st.integers(0, 3))):
        value = {"inner": json.dumps(value, ensure_ascii=draw(st.booleans()))}
    return json.dumps(value, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


@settings(max_examples=1500, deadline=None)
@given(line=lines())
def test_the_rules_that_a_line_calls_for_do_what_all_rules_would(line: bytes) -> None:
    try:
        parsed = parse(line)
    except ValueError:
        return
    before, rules, after = rules_called_for([b"{}", line, b"null"], rules_of(ALL))
    assert not before and not after
    assert (redact_value(parsed, ALL, rules) if rules else parsed) == redact_value(parsed, ALL)


@pytest.mark.parametrize(
    "value",
    [
        {"passwords": CONTEXT_SECRET},
        f"curl --user = sam:{CONTEXT_SECRET} https://example.com",
        f"password\u3000=\f'{CONTEXT_SECRET}'",
        f"--ap\u0131-\u212aey {CONTEXT_SECRET}",
        json.dumps(json.dumps(json.dumps({"client_secret": CONTEXT_SECRET}))),
    ],
    ids=["plural", "equals-sign", "wide-space", "letters-beyond-ascii", "quoted-thrice"],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_secret_is_seen_whatever_stands_between_it_and_its_name(value: object, ascii_only: bool) -> None:
    assert CONTEXT_SECRET not in str(redact_value(value, KEY))
    (rules,) = rules_called_for([json.dumps(value, ensure_ascii=ascii_only).encode()])
    assert redact_value(value, KEY, rules) == redact_value(value, KEY)


def test_secrets_hidden_by_escapes_and_bad_bytes_are_suspects() -> None:
    secret = SECRETS["aws_key"][0]
    escaped = "".join(f"\\u{ord(char):04x}" for char in secret)
    found = rules_called_for([f'"{escaped}"'.encode(), b"\xff " + secret.encode(), b'"plain"'])
    assert [bool(rules) for rules in found] == [True, True, False]


def test_a_line_with_a_character_by_number_takes_a_closer_look_without_a_rule() -> None:
    looks = screen_of(rules_of(KEY)).closer_looks([b'"a"', b'"\\u001b[0m"', b"\xff", b""])
    assert dict(looks) == {1: []}


def test_little_of_the_real_sessions_is_taken_for_a_secret(shared: Callable[[str], Path]) -> None:
    found = [
        line
        for path in shared("agent_sessions").glob("*/events.jsonl")
        for line in path.read_bytes().splitlines()
    ]
    changed = 0
    for line, rules in zip(found, rules_called_for(found), strict=True):
        if rules:
            value = parse(line)
            changed += redact_value(value, KEY, rules) is not value
    assert len(found) == 3131 and changed <= 5
