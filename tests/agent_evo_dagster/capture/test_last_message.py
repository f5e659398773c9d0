"""The last message of a session, which its transcript does not hold yet when the last Stop is captured."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.rounds.store import to_slices
from agent_evo_dagster.settings import Settings
from tests.agent_evo_dagster.capture.spools import record
from tests.agent_evo_dagster.capture.transcripts import SESSION, gathered, prompt, put, said

NOW = datetime(2027, 1, 1, tzinfo=UTC)
TEMPLATE = Path(__file__).parents[3] / "skill_bank"


def test_a_message_flushed_after_the_last_stop_is_there_once_the_session_is_quiet(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    transcript = tmp_path / "projects" / "-work" / f"{SESSION}.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes(prompt("go"))
    fields = {"session_id": SESSION, "transcript_path": str(transcript)}
    stopped = datetime.now(UTC)
    at = int(stopped.timestamp()) * 1_000_000_000
    lines = [record(1, at=at, **fields), record(2, at=at + 1, hook_event_name="Stop", **fields)]
    put(settings.spool, f"hooks/{SESSION}.jsonl", b"\n".join(lines) + b"\n")
    soon = stopped + timedelta(seconds=1)
    assert open_round(settings, TEMPLATE, RoundRequest(allow_empty=True), now=soon).slices == ()

    transcript.write_bytes(prompt("go") + said({"type": "text", "text": "All is done."}))
    manifest = open_round(settings, TEMPLATE, RoundRequest(), now=NOW)
    events = gathered(settings.spool, to_slices(manifest.slices)).events
    assert "All is done." in events.filter(source="transcript")["text"].to_list()
