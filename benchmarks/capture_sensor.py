"""What one look of the sensor costs with ten thousand session files of which a hundred changed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent_evo_dagster.capture.slices import unreadable_files
from agent_evo_dagster.rounds.opening import RoundRequest, new_slices, open_round
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from benchmarks.capture_hook import seconds

TEMPLATE = Path(__file__).parents[1] / "skill_bank"
FILES, CHANGED, TICKS = 10_000, 100, 5


def tick_times(home: Path, *, files: int = FILES, changed: int = CHANGED) -> dict[str, float]:
    """Best milliseconds of a look: most files were taken by a round, some are new since, some changed."""
    settings = Settings(home=home)
    hooks = settings.spool / "hooks"
    hooks.mkdir(parents=True)
    taken = files - 2 * changed
    for number in range(files - changed):
        _write(hooks, number, "SessionEnd" if number < taken else "PreToolUse")
    open_round(settings, TEMPLATE, RoundRequest())
    for number in range(files - changed, files):
        _write(hooks, number, "PreToolUse")

    def tick() -> None:
        new_slices(settings, RoundStore(settings.rounds), RoundRequest(), datetime.now(UTC))
        unreadable_files(settings.spool)

    first = seconds(tick)
    best = float("inf")
    for turn in range(TICKS):
        for number in range(changed):
            _write(hooks, number, "UserPromptSubmit", turn)
        best = min(best, seconds(tick))
    return {"tick_first_ms": first * 1e3, "tick_ms": best * 1e3}


def _write(hooks: Path, number: int, kind: str, turn: int = 0) -> None:
    at = int((datetime.now(UTC) + timedelta(seconds=turn)).timestamp() * 1e9)
    record = f'{{"captured_at":{at},"hook":{{"session_id":"s{number:05d}","hook_event_name":"{kind}"}}}}\n'
    with (hooks / f"s{number:05d}.jsonl").open("a") as stream:
        stream.write(record * 5)
