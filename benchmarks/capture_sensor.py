"""What one look of the sensor costs with ten thousand session files of which a hundred changed."""

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg  # noqa: TID251 a sensor is measured

from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.settings import Settings
from automation.sensors import build_spool_sensor
from benchmarks.capture_hook import seconds

TEMPLATE = Path(__file__).parents[1] / "skill_bank"
FILES, CHANGED, TICKS = 10_000, 100, 5


def tick_times(home: Path, *, files: int = FILES, changed: int = CHANGED) -> dict[str, float]:
    """Best milliseconds of the sensor's own evaluation: a round took most files, some are new, some changed.

    Once without transcripts, and once where each session has one.
    """
    settings = Settings(home=home)
    names = [str(uuid.UUID(int=number << 64 | number)) for number in range(files)]
    taken = files - 2 * changed
    for number, name in enumerate(names[: files - changed]):
        _write(settings.spool, name, "SessionEnd" if number < taken else "PreToolUse")
    open_round(settings, TEMPLATE, RoundRequest())
    for name in names[files - changed :]:
        _write(settings.spool, name, "PreToolUse")
    figures = _ticks(settings, names[:changed], "tick")
    for name in names:
        _transcript(settings.spool, name)
    return figures | _ticks(settings, names[:changed], "tick_with_transcripts")


def _ticks(settings: Settings, changing: list[str], what: str) -> dict[str, float]:
    sensor = build_spool_sensor(settings, TEMPLATE)
    with dg.DagsterInstance.ephemeral() as instance:

        def tick() -> None:
            found = sensor(dg.build_sensor_context(instance=instance))
            assert isinstance(found, dg.SkipReason), found

        first = seconds(tick)
        best = float("inf")
        for turn in range(TICKS):
            for name in changing:
                _write(settings.spool, name, "UserPromptSubmit", turn)
            best = min(best, seconds(tick))
    return {f"{what}_first_ms": first * 1e3, f"{what}_ms": best * 1e3}


def _write(spool: Path, session: str, kind: str, turn: int = 0) -> None:
    at = int((datetime.now(UTC) + timedelta(seconds=turn)).timestamp() * 1e9)
    record = f'{{"captured_at":{at},"hook":{{"session_id":"{session}","hook_event_name":"{kind}"}}}}\n'
    path = spool / "hooks" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        stream.write(record * 5)


def _transcript(spool: Path, session: str) -> None:
    """A transcript as the client is writing it: no round takes it yet."""
    folder = spool / "transcripts" / session
    folder.mkdir(parents=True)
    (folder / f"{session}.jsonl").write_text(f'{{"type":"user","sessionId":"{session}"}}\n')
