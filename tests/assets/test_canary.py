"""Canaries: secrets planted in a session are nowhere in what a round stores outside of the spool."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.settings import Settings
from tests.assets.fake_trainer import FakeTrainer
from tests.assets.graph import ROOT, Graph

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


def transcript(number: int, text: str) -> bytes:
    """Lines of a client's own transcript that hold a canary in all that they can."""
    call = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": text}}
    said = {"id": f"m{number}", "model": text, "usage": {"output_tokens": 1}, "content": [call]}
    said["content"] = [{"type": "text", "text": text}, call]
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text, "is_error": True}
    lines: list[dict[str, object]] = [
        {"type": "assistant", "message": said, "attributionSkill": text},
        {"type": "user", "message": {"content": [result]}, "toolUseResult": {"stderr": text}},
        {"type": "user", "message": {"content": text}},
        {"type": "summary", "summary": text},
        {"type": "user", "message": {"content": [{**result, "tool_use_id": 7}]}},  # goes to quarantine
    ]
    base = {"sessionId": f"canary-{number % 4}", "timestamp": "2026-03-01T10:00:00.000Z"}
    return b"".join(json.dumps({**base, **told}).encode() + b"\n" for told in lines)


def legacy(number: int, text: str) -> bytes:
    """An event of the older layout."""
    call = {"tool_name": "Bash", "tool_input": {"command": text}, "tool_response": {"stdout": text}}
    told = {"type": "tool_call", "session_id": "canary-old", "timestamp": "2026-03-01T10:00:00Z", **call}
    return json.dumps({**told, "n": number}).encode() + b"\n"


def spool_files() -> dict[str, bytes]:
    """The canaries as every kind of file of a spool, one of them as the id of a session."""
    files: dict[str, bytes] = {}
    for line in records():
        name = json.loads(line)["hook"]["session_id"] if b"broken" not in line else "canary-0"
        files[f"hooks/{name}.jsonl"] = files.get(f"hooks/{name}.jsonl", b"") + line
    for number, (_, context, secret) in enumerate(CANARIES):
        text, name = context.replace("{}", secret), f"canary-{number % 4}"
        places = f"transcripts/{name}/{name}.jsonl", "legacy/canary-old/events.jsonl"
        for place, line in zip(places, (transcript(number, text), legacy(number, text)), strict=True):
            files[place] = files.get(place, b"") + line
    ids = [secret for kind, _, secret in CANARIES if kind in {"github token", "jwt", "slack token"}]
    hooks = [{"session_id": secret, "hook_event_name": "SessionEnd"} for secret in ids]
    named = [json.dumps({"captured_at": AT, "hook": hook}).encode() + b"\n" for hook in hooks]
    return files | {"hooks/_fallback.jsonl": b"".join(named), f"hooks/{ids[0]}.jsonl": named[0]}


def stored_text(root: Path, *, without: Path) -> Iterator[tuple[Path, str]]:
    """Every stored file as text; of tables the values, each as JSON would write it, and as it is."""
    for path in sorted(path for path in root.rglob("*") if path.is_file() and without not in path.parents):
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            yield path, str(frame.rows()) + frame.write_json()
        if path.suffix == ".db":  # a value may lie on pages that are apart
            yield path, database_text(path)
        yield path, path.read_bytes().decode("utf-8", "replace")


def database_text(path: Path) -> str:
    """All values of all tables of a SQLite file."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return "\n".join(str(database.execute(f'SELECT * FROM "{name}"').fetchall()) for name in tables)


def pieces(secret: str) -> list[str]:
    """The secret, and parts of it that are long enough to be no chance."""
    return [secret, secret[-14:], secret[:16]] if "PRIVATE" not in secret else ["MII" + _W]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a home whose round read the canaries, with Dagster's own, and what it logged."""
    folder = tmp_path_factory.mktemp("canary")
    settings = Settings(home=folder / "home", policy="auto")
    import_sessions(ROOT / "samples", settings.spool)
    for name, data in spool_files().items():
        path = settings.spool / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(folder / "dagster")) as instance:
        graph = Graph(settings, instance, FakeTrainer())
        manifest = graph.open()
        result = graph.run(manifest.key)
        assert result.success
        events = graph.frame("hook_events", manifest.key)
        sources = events.filter(pl.col("session_id").str.starts_with("canary-"))["source"].value_counts()
        added = {"transcript": 4, "hook": 5, "legacy": 1}
        assert dict(sources.rows()) == {name: n * len(CANARIES) for name, n in added.items()}
        assert events["session_id"].str.starts_with("<redacted:").sum() == 3
        return folder, "\n".join(str(event) for event in result.all_events)


def test_at_least_thirty_kinds_are_planted() -> None:
    assert len({kind for kind, _, _ in CANARIES}) >= 30


def test_no_canary_is_in_anything_that_a_round_stored(stored: tuple[Path, str]) -> None:
    folder, logged = stored
    texts = [*stored_text(folder, without=folder / "home" / "spool"), (Path("events of the run"), logged)]
    kinds = {path.suffix for path, _ in texts}
    assert {".parquet", ".md", ".html", ".json", ".db", ".err"} <= kinds
    assert any("ASSET_MATERIALIZATION" in text for path, text in texts if path.suffix == ".db")
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
