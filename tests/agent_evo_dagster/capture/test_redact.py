"""Redaction: secrets go, everything else stays, and twice is once."""

import json
import time
from pathlib import Path

import pytest

from agent_evo_dagster.capture.fields import parse
from agent_evo_dagster.capture.redact import (
    KEY_BYTES,
    KEY_FILE,
    load_key,
    redact_text,
    redact_value,
    rules_of,
)
from agent_evo_dagster.capture.screen import rules_called_for
from agent_evo_dagster.errors import CaptureError
from tests.agent_evo_dagster.capture.spools import KEY

# Built from parts, so that no scanner takes this file for a leak.
SECRETS = {
    "anthropic_key": ["sk-" + "ant-api03-" + "aB3_" * 20],
    "openai_key": ["sk-" + "proj-" + "aB3-" * 12, "sk-" + "aB3" * 16],
    "github_token": ["ghp_" + "aB3d" * 9, "github_" + "pat_" + "aB3d_" * 8, "ghs_" + "Zz9" * 12],
    "gitlab_token": ["glpat-" + "aB3-" * 5],
    "huggingface_token": ["hf_" + "aBcD" * 9],
    "aws_key": ["AKIA" + "ABCD1234" * 2, "ASIA" + "Z9" * 8],
    "google_key": ["AIza" + "aB3-d" * 7],
    "slack_token": ["xoxb-" + "123456789012-" + "aB3d" * 6],
    "stripe_key": ["sk_" + "live_" + "aB3d" * 6],
    "package_token": ["npm_" + "aB3d" * 9, "pypi-" + "aB3_" * 12],
    "sendgrid_key": ["SG." + "aB3d" * 5 + "." + "aB3d" * 10],
    "provider_key": ["gsk_" + "aB3d" * 13, "nvapi-" + "aB3_" * 16],
    "jwt": ["eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0In0" + ".aB3_-dEf"],
    "service_key": ["lin_api_" + "aB3d" * 10, "hvs." + "aB3d" * 8, "glsa_" + "aB3d" * 9, "key-" + "0a1b" * 8],
    "twilio_key": ["SK" + "0a1b2c3d" * 4],
    "telegram_token": ["123456789:" + "AA" + "aB3-" * 8 + "x"],
    "private_key": ["-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA " + "PRIVATE KEY-----"],
}
WHOLE = [(kind, secret) for kind, secrets in SECRETS.items() for secret in secrets]
IN_CONTEXT = [
    "curl -H 'Authorization: Bearer {}' https://api.example.com",
    "authorization: Basic {}",
    'requests.get(url, headers={{"Authorization": "token {}"}})',
    "git clone https://sam:{}@git.example.com/x.git",
    "postgresql://app:{}@db.internal:5432/main",
    "mysql -u root -p{} main",
    "sshpass -p {} ssh host",
    "curl -u sam:{} https://example.com",
    "psql --password={} main",
    "machine example.com login sam password {}",
    "openssl rsa -passin pass:{} -in key.pem",
    "redis-cli -h cache -a {} ping",
    "https://api.telegram.org/bot123456789:AA{0}{0}x/getMe",
    "https://x.blob.core.windows.net/c?sv=2024&sig={}%3D%3D",
    "tool --api-key {} run",
    "export DB_PASSWORD={}",
    "WANDB_API_KEY='{}' python train.py",
    'api_key = "{}"',
    "password: '{}'",
    "client_secret={}",
    '{{"password": "{}"}}',
]
CONTEXT_SECRET = "hunter2Z9qLmT4xY"
HARMLESS = [
    "max_tokens=512, tokenizer='qwen', pad_token = '<|endoftext|>'",
    "password = getpass()",
    "api_key=os.environ['API_KEY'], token = self.tokens[0]",
    "export HF_TOKEN=$HF_TOKEN",
    "--secret WANDB_API_KEY",
    "the secret of good rewards: patience",
    "bearer authentication is required",
    "https://example.com:8080/path?x=1@2",
    "eyJhbGciOi is how a token begins",
    "sk-learn and sk-container-id-1",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "task-0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize(("kind", "secret"), WHOLE)
@pytest.mark.parametrize("around", ["{}", "key {} end", "a\n{}\nb", '"{}"', "x={}", "({})"])
def test_known_secrets_become_placeholders_of_their_kind(kind: str, secret: str, around: str) -> None:
    redacted = redact_text(around.format(secret), KEY)
    assert secret not in redacted and "<redacted:" in redacted
    assert f"<redacted:{kind}:" in redacted or "=" in around


@pytest.mark.parametrize("text", IN_CONTEXT)
def test_secrets_told_by_what_stands_before_them_go(text: str) -> None:
    redacted = redact_text(text.format(CONTEXT_SECRET), KEY)
    assert CONTEXT_SECRET not in redacted and redacted.count("<redacted:") == 1
    assert redacted.startswith(text.split("{}", maxsplit=1)[0].replace("{{", "{")[:6])


TOKENS = [SECRETS["anthropic_key"][0], SECRETS["github_token"][0], SECRETS["aws_key"][0]]


@pytest.mark.parametrize("secret", TOKENS)
@pytest.mark.parametrize(
    "before",
    [
        "\x1b[01;31m\x1b[K",
        "\x1b[32m",
        "\x1b(B",
        "\\x1b[0m",
        "\\u001b[38;2;255;100;0m",
        "\\033[1m",
        "KEY\\n",
        "\\t",
        "b'KEY\\n",
        '{"log":"x\\n',
        "\\u000a",
        "\\x0a",
        "key%3D",
        "key_",
        "key-",
    ],
)
def test_a_token_behind_an_escape_or_a_name_goes(before: str, secret: str) -> None:
    redacted = redact_text(f"{before}{secret} end", KEY)
    assert redacted.startswith(f"{before}<redacted:") and redacted.endswith("> end")
    assert redact_text(redacted, KEY) == redacted


def test_a_header_behind_the_escape_of_a_line_break_goes() -> None:
    text = rf'{{"log":"GET /\nAuthorization: Basic {CONTEXT_SECRET}\nBearer {CONTEXT_SECRET}"}}'
    assert CONTEXT_SECRET not in redact_text(text, KEY)


@pytest.mark.parametrize(
    "password",
    ["$hunter2", "*hunter2", "SECRET_PASS_WORD", "abc/def==", "/abc/def", "it's2", "${PASS:-hunter2}", "p$w"],
)
@pytest.mark.parametrize("around", ["postgres://bob:{}@db", "x 'redis://:{}@h:6379/0' y"])
def test_a_password_in_a_url_goes_whatever_it_begins_with_or_holds(password: str, around: str) -> None:
    before, _, after = around.partition("{}")
    redacted = redact_text(around.format(password), KEY)
    assert redacted.startswith(f"{before}<redacted:url_password:") and redacted.endswith(f">{after}")
    assert redact_text(redacted, KEY) == redacted
    (rules,) = rules_called_for([json.dumps(around.format(password)).encode()])
    assert redact_text(around.format(password), KEY, rules) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "postgres://bob:$PASS@db",
        "postgres://bob:${PASS}@db",
        "https://bob:***@db",
        "http://localhost:5173/@vite/client",
        "http://[::1]:8080/@x",
        "http://{host}:{port}/@x",
        "ssh://git@h:a/b",
        "['http://h:80','a@b.example']",
    ],
)
def test_a_url_without_a_password_stays(text: str) -> None:
    assert redact_text(text, KEY) == text


@pytest.mark.parametrize("secret", TOKENS)
@pytest.mark.parametrize(
    "mark",
    ["<redacted:", "<redacted:github_token:", "<redacted:x:00000000>", "<redacted:password:0123abcd>"],
)
def test_a_forged_mark_keeps_no_secret(mark: str, secret: str) -> None:
    assert secret not in redact_text(f"{mark}{secret}", KEY)
    assert CONTEXT_SECRET not in redact_text(f'password = "{mark}{CONTEXT_SECRET}"', KEY)
    assert CONTEXT_SECRET not in str(redact_value({"password": f"{mark}{CONTEXT_SECRET}"}, KEY))


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text, KEY) == text


@pytest.mark.parametrize(
    "text", [secret for _, secret in WHOLE] + [t.format(CONTEXT_SECRET) for t in IN_CONTEXT]
)
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact_text(text, KEY)
    assert redact_text(once, KEY) == once
    value = {"password": CONTEXT_SECRET, "text": text}
    redacted = redact_value(value, KEY)
    assert redact_value(redacted, KEY) is redacted


def test_one_secret_has_one_placeholder_which_depends_on_the_key() -> None:
    secret = SECRETS["github_token"][0]
    text = redact_text(f"{secret} and {secret}", KEY)
    first, _, second = text.split()
    assert first == second
    assert redact_text(secret, b"another") != first


def test_fields_named_as_secrets_lose_their_value_and_no_others() -> None:
    value = {
        "password": "short",
        "db_password": "x y z w",
        "tokens": "four",
        "n": 1,
        "secret": None,
        "ok": ["a"],
    }
    redacted = redact_value(value, KEY)
    assert isinstance(redacted, dict)
    assert {name for name in value if redacted[name] != value[name]} == {"password", "db_password"}


def test_a_value_without_secrets_is_returned_as_it_is() -> None:
    value = {"a": [1, {"b": "text"}], "c": "password = getpass()"}
    assert redact_value(value, KEY) is value


def test_a_private_key_that_was_cut_goes_to_its_end() -> None:
    text = "-----BEGIN " + "PRIVATE KEY-----\nMIIEvQ\nabc"
    assert redact_text(f"a\n{text}", KEY).startswith("a\n<redacted:private_key:")
    assert "MIIEvQ" not in redact_text(text, KEY)


@pytest.mark.parametrize(
    "text",
    [
        "eyJ" * 100_000,
        "eyJ-" * 80_000,
        "sk-" * 100_000,
        "A_" * 150_000,
        "://a:" * 60_000,
        "password=" * 40_000,
        "-" * 300_000,
        "--token " * 40_000,
        "-----BEGIN " * 30_000,
        "a" * 400_000,
        " -u a:" * 50_000,
        "mysql " * 50_000,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_takes_bounded_time(text: str) -> None:
    begun = time.monotonic()
    redact_text(text, KEY)
    assert time.monotonic() - begun < 5


PERSONAL = {
    "email": (["sam.lee+x@mail.example.org"], ["git@github.com:org/x.git", "a @ b.c", "x@y", "@dataclass"]),
    "ip": (
        ["203.0.113.7", "10.1.2.3", "2001:db8::8a2e:370:7334", "fe80:0:0:0:1:2:3:4"],
        ["127.0.0.1", "0.0.0.0", "12:30:45", "std::vector", "1.2.3.4.5", "v1.2.3.4", "a::b", "256.1.1.1"],
    ),
    "home": (
        ["/home/sam/x.py", "/Users/sam", r"C:\Users\sam\x", "/x/projects/-home-sam-work/1.jsonl"],
        ["/home/$USER/x", "at home/office", "/homework/sam", "the Users: sam"],
    ),
}


@pytest.mark.parametrize(("kind", "text"), [(k, text) for k, (hits, _) in PERSONAL.items() for text in hits])
def test_personal_data_goes_where_the_settings_ask_for_it(kind: str, text: str, tmp_path: Path) -> None:
    line = json.dumps({"cwd": f"x {text} y"}).encode()
    assert redact_value(parse(line), KEY) == parse(line)
    key = load_key(tmp_path, personal=[kind])
    once = redact_value(parse(line), key)
    assert f"<redacted:{kind}:" in str(once) and "sam" not in str(once)
    assert redact_value(once, key) is once
    (rules,) = rules_called_for([line], rules_of(key))
    assert redact_value(parse(line), key, rules) == once


@pytest.mark.parametrize(("kind", "text"), [(k, text) for k, (_, rest) in PERSONAL.items() for text in rest])
def test_what_only_looks_personal_stays(kind: str, text: str, tmp_path: Path) -> None:
    assert redact_text(f"x {text} y", load_key(tmp_path, personal=[kind])) == f"x {text} y"


def test_an_unknown_kind_of_personal_data_is_an_error_that_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="email, ip, home"):
        load_key(tmp_path, personal=["phone"])


def test_a_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    key = load_key(home)
    assert len(key) == KEY_BYTES and load_key(home) == key
    assert (home / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.iterdir()] == [KEY_FILE]


def test_a_damaged_key_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_bytes(b"short")
    with pytest.raises(CaptureError, match="delete it"):
        load_key(tmp_path)
