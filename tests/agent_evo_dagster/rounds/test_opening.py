"""The opening of a round: what can never run is not opened, and nothing trained is silently dropped."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.capture.read import read_slices
from agent_evo_dagster.capture.redact import load_key
from agent_evo_dagster.errors import EmptySpoolError, RoundError, SkillBankError, TrainingError
from agent_evo_dagster.operators.types import OperatorRun
from agent_evo_dagster.rounds.failures import StepFailure, record_failure
from agent_evo_dagster.rounds.opening import RoundRequest, open_round, origin_told, to_go_on
from agent_evo_dagster.rounds.status import finished_sessions
from agent_evo_dagster.rounds.store import RoundStore, to_slices
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.training.request import WorkerResult
from agent_evo_dagster.trajectories.build import build_trajectories

PROJECT = Path(__file__).parents[3]
TEMPLATE = PROJECT / "skill_bank"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(home=tmp_path / "home", bank=None, policy="auto")
    import_sessions(PROJECT / "samples", made.spool)
    return made


def ended(key: str) -> dict[str, object]:
    """The status of a round that came to its end with that training."""
    training = {"run_id": "r", "run_ids": [], "success": True, "reward": None, "steps": 1}
    measured = dict.fromkeys(("stopped_early", "accuracy_before", "accuracy_after"))
    counts = ("findings", *(f"patches_{what}" for what in ("generated", "accepted", "rejected", "waiting")))
    return {
        **{"round": int(key[-4:]), "key": key, "status": "complete", "bank_hash": "0" * 64, "skills": {}},
        **dict.fromkeys(("sessions", "events", "quarantined"), 0),
        "training": {**training, **measured, "checkpoint_sha256": "c" * 64},
        "optimization": {"report_path": "report.md", **dict.fromkeys(counts, 0)},
    }


def trained(settings: Settings, key: str) -> None:
    folder = settings.runs / key / "train"
    folder.mkdir(parents=True)
    result = WorkerResult(
        job="train",
        steps=1,
        checkpoint_sha256="c" * 64,
        init_sha256="i" * 64,
        packages={},
        peak_memory_bytes=1,
        wall_seconds=1,
        cpu_seconds=1,
    )
    (folder / "result.json").write_text(result.model_dump_json())
    (settings.rounds / key / "status.json").write_text(json.dumps(ended(key)))


def parent_of(manifest: RoundManifest) -> str | None:
    return manifest.parent.round if manifest.parent else None


def test_a_round_takes_the_sessions_that_no_round_took(settings: Settings) -> None:
    first = open_round(settings, TEMPLATE, RoundRequest())
    second = open_round(settings, TEMPLATE, RoundRequest())
    assert len(first.slices) == 6
    assert second.slices == ()


@pytest.mark.parametrize(
    "overrides",
    [
        {"learning_rate": float("nan")},
        {"learning_rate": float("inf")},
        {"max_steps": "abc"},
        {"max_steps": -4},
    ],
)
def test_a_setting_that_cannot_be_used_opens_no_round_and_takes_no_session(
    settings: Settings, overrides: dict[str, float | int | str]
) -> None:
    with pytest.raises(TrainingError, match=next(iter(overrides))):
        open_round(settings, TEMPLATE, RoundRequest(overrides=overrides))
    assert RoundStore(settings.rounds).keys() == []
    assert len(open_round(settings, TEMPLATE, RoundRequest()).slices) == 6


def test_a_request_of_which_nothing_is_understood_opens_no_round_whoever_asks(settings: Settings) -> None:
    with pytest.raises(TrainingError, match="'make it better' nothing was understood"):
        open_round(settings, TEMPLATE, RoundRequest("make it better", opened_by="sensor"))
    assert RoundStore(settings.rounds).keys() == []
    assert open_round(settings, TEMPLATE, RoundRequest("make it better, 4 steps")).request
    assert open_round(settings, TEMPLATE, RoundRequest("make it better", anyway=True)).request
    run = OperatorRun(
        session_id="5e55", client="2.1.197", models=(), outcome="success", exit_code=0, turns=7,
        cost_usd=None, tokens=60, seconds=3.5,
    )  # fmt: skip
    assert open_round(settings, TEMPLATE, RoundRequest("make it better", operated=run)).operated == run


def test_a_bank_that_does_not_compile_opens_no_round(settings: Settings, tmp_path: Path) -> None:
    bank = tmp_path / "bank"
    shutil.copytree(TEMPLATE, bank, ignore=shutil.ignore_patterns("__pycache__"))
    base = bank / "rllm" / "rllm-config" / "base.md"
    base.write_text(base.read_text().replace("---\n", "--\n", 1))
    broken = settings.model_copy(update={"bank": bank})
    with pytest.raises(SkillBankError, match="rllm-config"):
        open_round(broken, TEMPLATE, RoundRequest())
    assert RoundStore(settings.rounds).keys() == []


@pytest.mark.parametrize("file", ["_fallback", "ghp_" + "aB3d" * 9])
def test_a_secret_in_place_of_a_session_id_is_in_no_manifest_and_its_session_is_over(
    tmp_path: Path, file: str
) -> None:
    secret, settings = "ghp_" + "aB3d" * 9, Settings(home=tmp_path / "home", bank=None, policy="auto")
    hook = {"session_id": secret, "hook_event_name": "SessionEnd", "reason": "exit"}
    hooks = settings.spool / "hooks"
    hooks.mkdir(parents=True)
    (hooks / f"{file}.jsonl").write_text(json.dumps({"captured_at": 10**18, "hook": hook}) + "\n")
    manifest = open_round(settings, TEMPLATE, RoundRequest(allow_empty=True))
    assert secret not in manifest.model_dump_json()
    assert len(manifest.slices) + len(manifest.unreadable) == 1
    slices = to_slices(manifest.slices)
    events = read_slices(settings.spool, slices, key=load_key(settings.root)).events
    assert finished_sessions(manifest) == set(events["session_id"])
    steps = build_trajectories(events, over=finished_sessions(manifest))
    assert set(steps["session_id"]) == set(events["session_id"])


def test_an_empty_spool_says_what_fills_it(tmp_path: Path) -> None:
    with pytest.raises(EmptySpoolError, match="agent-evo import"):
        open_round(Settings(home=tmp_path / "home"), TEMPLATE, RoundRequest())


def test_a_round_goes_on_from_the_newest_that_came_to_its_end_by_number(settings: Settings) -> None:
    for _ in range(10):
        open_round(settings, TEMPLATE, RoundRequest())
    trained(settings, "round-0009")
    assert parent_of(open_round(settings, TEMPLATE, RoundRequest())) == "round-0009"
    trained(settings, "round-0010")
    assert parent_of(open_round(settings, TEMPLATE, RoundRequest())) == "round-0010"


def test_rounds_that_trained_and_did_not_end_are_passed_over_by_name(settings: Settings) -> None:
    for _ in range(3):
        open_round(settings, TEMPLATE, RoundRequest())
    for key in ("round-0001", "round-0002"):
        trained(settings, key)
    (settings.rounds / "round-0002" / "status.json").unlink()
    failure = StepFailure(step="skill_patches", message="refused", at=datetime(2026, 1, 5, tzinfo=UTC))
    record_failure(settings.rounds / "round-0002", failure)
    fourth = open_round(settings, TEMPLATE, RoundRequest())
    assert parent_of(fourth) == "round-0001"
    assert fourth.passed_over == {"round-0002": "failed at skill_patches"}
    assert "not from round-0002 (then: failed at skill_patches): only a round that" in origin_told(fourth)
    assert "agent-evo" not in origin_told(fourth)  # it is told later, too, when that round may be complete
    assert to_go_on(fourth).endswith("run it to its end: agent-evo rounds run round-0002")


def test_a_finished_round_that_lost_its_training_is_not_silently_passed_over(settings: Settings) -> None:
    open_round(settings, TEMPLATE, RoundRequest())
    trained(settings, "round-0001")
    shutil.rmtree(settings.runs / "round-0001")
    with pytest.raises(RoundError, match="agent-evo rounds run round-0001 --only training"):
        open_round(settings, TEMPLATE, RoundRequest())


def test_a_model_that_was_trained_again_and_came_out_otherwise_is_not_gone_on_from(
    settings: Settings,
) -> None:
    open_round(settings, TEMPLATE, RoundRequest())
    trained(settings, "round-0001")
    result = settings.runs / "round-0001" / "train" / "result.json"
    result.write_text(result.read_text().replace("c" * 64, "e" * 64))
    with pytest.raises(RoundError, match=r"is e{12} now.*was c{12}.*again: agent-evo rounds run round-0001$"):
        open_round(settings, TEMPLATE, RoundRequest())
    assert RoundStore(settings.rounds).keys() == ["round-0001"]


def test_a_folder_beside_the_rounds_is_no_round(settings: Settings) -> None:
    open_round(settings, TEMPLATE, RoundRequest())
    shutil.copytree(settings.rounds / "round-0001", settings.rounds / "round-0001.bak")
    assert RoundStore(settings.rounds).keys() == ["round-0001"]


def test_a_status_that_cannot_be_read_names_its_file_and_the_command(settings: Settings) -> None:
    open_round(settings, TEMPLATE, RoundRequest())
    (settings.rounds / "round-0001" / "status.json").write_text("")
    with pytest.raises(RoundError, match=r"status\.json of round-0001 cannot be read"):
        RoundStore(settings.rounds).status("round-0001")
