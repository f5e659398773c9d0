"""Canaries: secrets planted in a session are nowhere in what a round stores outside of the spool."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.assets.graph import fake_graph

AT = 1_740_000_000_000_000_000

# Kind, how it stands in a session, and what must not be found. Built from parts: no scanner takes this
# file for a leak.
_W = "q7Zr" + "Xk29" + "LmP4" + "tVb8"
CANARIES: list[tuple[str, str, str]] = [
    ("anthropic key", "{}", "sk-" + "ant-api03-" + _W * 3),
    ("openai project key", "key is {}", "sk-" + "proj-" + _W * 3),
    ("openai key", "{}", "sk-" + _W * 3),
    ("openrouter key", "{}", "sk-" + "or-v1-" + _W * 4),
    ("github token", "remote {} ok", "ghp_" + _W * 3),
    ("github fine-grained token", "{}", "github_" + "pat_" + _W * 3),
    ("gitlab token", "{}", "glpat-" + _W * 2),
    ("hugging face token", "{}", "hf_" + _W * 2),
    ("aws access key", "{}", "AKIA" + "Q7ZRXK29LMP4TVB8"),
    ("aws secret key", "aws_secret_access_key = {}", _W * 2 + "/+aB3dE6gH"),
    ("google key", "{}", "AIza" + _W * 3),
    ("google oauth token", "{}", "ya29." + _W * 3),
    ("slack token", "{}", "xoxb-" + "123456789012-" + _W),
    ("slack webhook", "https://hooks.slack.com/services/{}", "T0AB/B0CD/" + _W * 2),
    ("stripe key", "{}", "sk_" + "live_" + _W * 2),
    ("npm token", "{}", "npm_" + _W * 3),
    ("pypi token", "{}", "pypi-" + _W * 4),
    ("sendgrid key", "{}", "SG." + _W * 2 + "." + _W * 3),
    ("groq key", "{}", "gsk_" + _W * 3),
    ("nvidia key", "{}", "nvapi-" + _W * 4),
    ("telegram token", "bot{} ", "123456789:" + "AA" + _W * 2 + "x"),
    ("vault token", "{}", "hvs." + _W * 2),
    ("jwt", "{}", "eyJ" + _W + ".eyJ" + _W + "." + _W),
    (
        "private key",
        "{}",
        "-----BEGIN RSA " + "PRIVATE KEY-----\nMII" + _W + "\n-----END RSA " + "PRIVATE KEY-----",
    ),
    ("bearer token", "curl -H 'Authorization: Bearer {}' https://x.example", "b" + _W),
    ("basic login", "curl -u sam:{} https://x.example", "c" + _W),
    ("password in a url", "postgresql://app:{}@db.internal/main", "d" + _W),
    ("password of a command", "mysql -u root -p{} main", "e" + _W),
    ("password option", "psql --password={} main", "f" + _W),
    ("variable", "export DB_PASSWORD={}", "g" + _W),
    ("assignment", 'api_key = "{}"', "h" + _W),
    ("netrc", "machine x.example login sam password {}", "i" + _W),
]


def records() -> Iterator[bytes]:
    """Sessions that hold each canary in a prompt, a command, an output, an error, and a name of a field."""
    for number, (_, context, secret) in enumerate(CANARIES):
        text = context.replace("{}", secret)
        call = {"tool_name": "Bash", "tool_use_id": f"t{number}", "tool_input": {"command": text}}
        hooks: list[dict[str, object]] = [
            {"hook_event_name": "UserPromptSubmit", "prompt": f"please {text}"},
            {"hook_event_name": "PreToolUse", **call},
            {
                "hook_event_name": "PostToolUse",
                **call,
                "tool_response": {"stdout": "x" * 300 + f"\n{text}\n"},
            },
            {"hook_event_name": "PostToolUseFailure", **call, "tool_use_id": f"f{number}", "error": text},
            {"hook_event_name": "Notification", "message": text, "details": {text: [text]}},
        ]
        for place, hook in enumerate(hooks):
            at = AT + (number * 10 + place) * 10**9
            line = {"captured_at": at, "hook": {"session_id": f"canary-{number % 4}", **hook}}
            yield json.dumps(line, ensure_ascii=number % 2 == 0).encode() + b"\n"
        yield f'{{"captured_at": {AT}, "hook": broken {text!r}\n'.encode()  # goes to quarantine


def stored_text(root: Path, *, without: Path) -> Iterator[tuple[Path, str]]:
    """Every stored file as text; of Parquet files the values, each as JSON would write it, and as it is."""
    for path in sorted(path for path in root.rglob("*") if path.is_file() and without not in path.parents):
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            yield path, str(frame.rows()) + frame.write_json()
        yield path, path.read_bytes().decode("utf-8", "replace")


def pieces(secret: str) -> list[str]:
    """The secret, and parts of it that are long enough to be no chance."""
    return [secret, secret[-14:], secret[:16]] if "PRIVATE" not in secret else ["MII" + _W]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a home whose round read the canaries, and what Dagster logged of it."""
    folder = tmp_path_factory.mktemp("canary")
    with fake_graph(folder / "home", sessions=True) as graph:
        for line in records():
            name = json.loads(line)["hook"]["session_id"] if b"broken" not in line else "canary-0"
            with (graph.settings.spool / "hooks" / f"{name}.jsonl").open("ab") as stream:
                stream.write(line)
        manifest = graph.open()
        result = graph.run(manifest.key)
        assert result.success
        events = graph.frame("hook_events", manifest.key)
        assert events["session_id"].str.starts_with("canary-").sum() == 5 * len(CANARIES)
        return folder, "\n".join(str(event) for event in result.all_events)


def test_at_least_thirty_kinds_are_planted() -> None:
    assert len({kind for kind, _, _ in CANARIES}) >= 30


def test_no_canary_is_in_anything_that_a_round_stored(stored: tuple[Path, str]) -> None:
    folder, logged = stored
    texts = [*stored_text(folder, without=folder / "home" / "spool"), (Path("events of the run"), logged)]
    assert any(path.suffix == ".parquet" for path, _ in texts) and any(
        path.suffix == ".md" for path, _ in texts
    )
    found = [
        (kind, path.name)
        for path, text in texts
        for kind, _, secret in CANARIES
        if any(piece in text for piece in pieces(secret))
    ]
    assert found == []


def test_the_canaries_became_placeholders(stored: tuple[Path, str]) -> None:
    folder, _ = stored
    (path,) = (folder / "home" / "warehouse" / "hook_events").glob("*.parquet")
    events = pl.read_parquet(path).filter(pl.col("session_id").str.starts_with("canary-"))
    prompts = events.filter(pl.col("kind") == "UserPromptSubmit")["text"]
    assert prompts.str.contains("<redacted:", literal=True).all()
