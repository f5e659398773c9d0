"""When rounds begin by themselves: each session and each decision once, whatever happens in between."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from agent_evo_dagster.definitions import TEMPLATE
from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.records import DecisionRecord
from agent_evo_dagster.rounds.opening import RoundRequest, ensure_bank, open_round
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from automation.jobs import ADOPT, EVOLUTION_ROUND
from automation.schedules import build_nightly
from automation.sensors import build_decision_sensor, build_spool_sensor
from tests.assets.graph import ROUNDS, graph_at

ENOUGH = 2


@dataclass
class Home:
    """A home with a spool that tests write sessions to, and the daemon's part of a tick."""

    settings: Settings
    instance: dg.DagsterInstance
    launched: list[str] = field(default_factory=list)

    def session(self, name: str, *, events: int = 1) -> Path:
        """Write a finished session to a file of its own."""
        path = self.settings.spool / "hooks" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        kinds = ["UserPromptSubmit"] * events + ["SessionEnd"]
        records = [
            {"captured_at": number, "hook": {"session_id": name, "hook_event_name": kind, "prompt": "x" * 40}}
            for number, kind in enumerate(kinds, start=1)
        ]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def tick(self, sensor: dg.SensorDefinition | None = None) -> dg.SensorResult | dg.SkipReason:
        """Evaluate the sensor as the daemon does, without carrying out what it asks for."""
        context = dg.build_sensor_context(instance=self.instance)
        return (sensor or build_spool_sensor(self.settings, TEMPLATE, enough=ENOUGH))(context)

    def carry_out(self, result: dg.SensorResult | dg.SkipReason) -> list[str]:
        """Add the partitions and make the runs that a tick asked for; returns the rounds."""
        if isinstance(result, dg.SkipReason):
            return []
        for request in result.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        for request in result.run_requests or []:
            assert self.instance.has_dynamic_partition(ROUNDS, request.partition_key)
            self.run_of(request.partition_key, dg.DagsterRunStatus.SUCCESS)
        return [request.partition_key for request in result.run_requests or []]

    def run_of(self, key: str, status: dg.DagsterRunStatus) -> None:
        """A run of the round, as Dagster's storage has it."""

        @dg.job(name=EVOLUTION_ROUND)
        def job() -> None: ...

        self.instance.create_run_for_job(job, status=status, tags={"dagster/partition": key})

    def rounds(self) -> list[str]:
        return RoundStore(self.settings.rounds).keys()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with graph_at(tmp_path / "home", sessions=False) as graph:
        yield Home(graph.settings, graph.instance)


def test_a_tick_tells_what_a_round_would_lack_and_opens_none(home, monkeypatch):
    settings = home.settings.model_copy(update={"analyst": "openai", "analyst_model": "m"})
    sensor = build_spool_sensor(settings, TEMPLATE, enough=ENOUGH)
    assert isinstance(home.tick(sensor), dg.SkipReason)  # nothing is to be done
    home.session("a")
    home.session("b")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SettingsError, match=r"analyst: .* the variable OPENAI_API_KEY is not set"):
        home.tick(sensor)
    assert home.rounds() == []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert home.carry_out(home.tick(sensor)) == ["round-0001"]


def test_a_tick_asks_for_no_run_of_an_open_round_that_would_lack_something(home):
    home.session("a")
    home.session("b")
    home.tick()  # opened, and the daemon dies
    settings = home.settings.model_copy(update={"judges": ("llm",)})
    with pytest.raises(SettingsError, match="no service that it asks"):
        home.tick(build_spool_sensor(settings, TEMPLATE, enough=ENOUGH))
    assert home.carry_out(home.tick()) == ["round-0001"]


def test_too_few_sessions_open_nothing(home):
    home.session("a")
    result = home.tick()
    assert isinstance(result, dg.SkipReason)
    assert "1 finished sessions are new; a round opens at 2" in result.skip_message
    assert home.rounds() == []


def test_an_empty_spool_opens_nothing(home):
    assert isinstance(home.tick(), dg.SkipReason)


def test_enough_sessions_open_one_round_once(home):
    home.session("a")
    home.session("b")
    assert home.carry_out(home.tick()) == ["round-0001"]
    assert home.carry_out(home.tick()) == []
    assert home.rounds() == ["round-0001"]


def test_every_session_comes_into_one_round(home):
    for wave in ("ab", "cd"):
        for name in wave:
            home.session(name)
        home.carry_out(home.tick())
    taken = [
        session
        for manifest in RoundStore(home.settings.rounds).all()
        for part in manifest.slices
        for session in part.sessions
    ]
    assert sorted(taken) == ["a", "b", "c", "d"]


def test_a_tick_that_was_killed_after_opening_is_made_good_by_the_next(home):
    home.session("a")
    home.session("b")
    home.tick()  # the manifest is written; the daemon dies before it reads the answer
    assert home.carry_out(home.tick()) == ["round-0001"]
    assert home.carry_out(home.tick()) == []
    assert home.rounds() == ["round-0001"]


def test_a_daemon_that_dies_between_partition_and_run_requests_the_run_again(home):
    home.session("a")
    home.session("b")
    home.tick()
    home.instance.add_dynamic_partitions(ROUNDS, ["round-0001"])
    assert home.carry_out(home.tick()) == ["round-0001"]


def test_a_tick_killed_before_the_manifest_opens_the_round_later(home, monkeypatch):
    home.session("a")
    home.session("b")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RoundStore, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        home.tick()
    assert home.carry_out(home.tick()) == ["round-0001"]


def test_a_round_that_a_person_opened_is_left_to_that_person(home):
    home.session("a")
    open_round(home.settings, TEMPLATE, RoundRequest())
    assert home.carry_out(home.tick()) == []


def test_a_new_instance_does_not_run_finished_rounds_again(home):
    home.session("a")
    home.session("b")
    home.tick()
    (home.settings.rounds / "round-0001/status.json").write_text("{}")
    assert home.carry_out(home.tick()) == []


def test_a_file_that_cannot_be_read_is_told_and_keeps_no_other_back(home):
    (home.settings.spool / "hooks").mkdir(parents=True)
    (home.settings.spool / "hooks/broken.jsonl").symlink_to(home.settings.root / "nowhere")
    skipped = home.tick()
    assert "hooks/broken.jsonl is passed over: No such file or directory" in skipped.skip_message
    home.session("a")
    home.session("b")
    assert home.carry_out(home.tick()) == ["round-0001"]
    (manifest,) = RoundStore(home.settings.rounds).all()
    assert manifest.unreadable == {"hooks/broken.jsonl": "No such file or directory"}
    assert home.carry_out(home.tick()) == []


def test_a_file_that_was_truncated_below_what_was_taken_is_taken_once(home):
    home.session("a", events=5)
    home.session("b")
    assert home.carry_out(home.tick()) == ["round-0001"]
    home.session("a", events=1)  # rotated: another, shorter file with this name
    home.session("c")
    assert home.carry_out(home.tick()) == ["round-0002"]
    assert home.carry_out(home.tick()) == []
    home.session("d")
    assert home.carry_out(home.tick()) == []  # one new session, not two


def test_a_broken_line_does_not_stop_the_sensor(home):
    path = home.session("a")
    path.write_bytes(b"{broken\n\xff\n" + path.read_bytes())
    home.session("b")
    assert home.carry_out(home.tick()) == ["round-0001"]


def decided(home: Home, *, key: str = "round-0001", patch: str = "p-1") -> DecisionRecord:
    """An approval on record whose patch is not in the bank."""
    ensure_bank(home.settings, TEMPLATE)
    record = DecisionRecord(
        patch_id=patch,
        at=datetime.now(UTC),
        diff_hash="0" * 64,
        decision="approve",
        by="Ada",
        gate_verdict=None,
        reason="good",
        round=key,
        override=True,
    )
    return ledger_of(home.settings.bank_path).decide(record)


def test_each_approval_asks_for_one_run_of_its_round(home):
    record = decided(home)
    sensor = build_decision_sensor(home.settings, TEMPLATE)
    first, second = home.tick(sensor), home.tick(sensor)
    assert sensor.job_name == ADOPT
    assert [(r.run_key, r.partition_key) for r in first.run_requests] == [(record.hash, "round-0001")]
    assert [r.run_key for r in second.run_requests] == [record.hash]  # the key: Dagster makes one run of both
    home.carry_out(first)  # a partition that this instance does not know is added first


def test_an_adopted_patch_asks_for_nothing(home):
    record = decided(home)
    ledger_of(home.settings.bank_path).record_adoption(record, {}, at=datetime.now(UTC))
    assert isinstance(home.tick(build_decision_sensor(home.settings, TEMPLATE)), dg.SkipReason)


def test_a_rejection_asks_for_nothing(home):
    record = decided(home).model_copy(update={"decision": "reject", "patch_id": "p-2"})
    ledger = ledger_of(home.settings.bank_path)
    ledger.record_adoption(ledger.decision("p-1"), {}, at=datetime.now(UTC))
    ledger.decide(record)
    assert isinstance(home.tick(build_decision_sensor(home.settings, TEMPLATE)), dg.SkipReason)


def test_a_round_that_is_being_run_compiles_its_own_approvals(home):
    decided(home)
    home.run_of("round-0001", dg.DagsterRunStatus.STARTED)
    assert isinstance(home.tick(build_decision_sensor(home.settings, TEMPLATE)), dg.SkipReason)


def test_an_approval_file_that_cannot_be_carried_out_is_told_at_each_look(home):
    folder = ensure_bank(home.settings, TEMPLATE).path / "approvals"
    folder.mkdir()
    (folder / "ada.yaml").write_text("by: Ada\nreason: x\napprove: [p-1111111111111111]\n")
    for _ in range(2):
        skipped = home.tick(build_decision_sensor(home.settings, TEMPLATE))
        assert "approvals/ada.yaml: No patch begins with 'p-1111111111111111'" in skipped.skip_message
    assert ledger_of(home.settings.bank_path).records() == ()


def test_a_second_approval_asks_for_another_run_of_the_round(home):
    record = decided(home)
    ledger = ledger_of(home.settings.bank_path)
    more = record.model_copy(update={"by": "Bob", "at": datetime.now(UTC), "hash": "", "prev": ""})
    consent = ledger.approve(more, people=2)
    sensor = build_decision_sensor(home.settings, TEMPLATE)
    assert [request.run_key for request in home.tick(sensor).run_requests] == [consent.hash]


def test_no_decision_yet_asks_for_nothing(home):
    assert isinstance(home.tick(build_decision_sensor(home.settings, TEMPLATE)), dg.SkipReason)


@pytest.fixture
def stored(home, tmp_path: Path) -> Iterator[Home]:
    """The same home with an instance on disk: a schedule is given no other."""
    folder = tmp_path / "stored"
    folder.mkdir()
    with dg.DagsterInstance.local_temp(str(folder)) as instance:
        yield Home(home.settings, instance)


def night(home: Home, **changed: object) -> list[str] | dg.SkipReason:
    nightly = build_nightly(home.settings.model_copy(update=changed), TEMPLATE)
    result = nightly(
        dg.build_schedule_context(instance=home.instance, scheduled_execution_time=datetime.now(UTC))
    )
    return result if isinstance(result, dg.SkipReason) else [request.partition_key for request in result]


def test_nothing_runs_by_itself_until_it_is_switched_on(home):
    assert build_nightly(home.settings, TEMPLATE).default_status is dg.DefaultScheduleStatus.STOPPED
    for sensor in (
        build_spool_sensor(home.settings, TEMPLATE),
        build_decision_sensor(home.settings, TEMPLATE),
    ):
        assert sensor.default_status is dg.DefaultSensorStatus.STOPPED


def test_the_nightly_round_opens_one_and_registers_it(stored):
    stored.session("a")
    assert night(stored) == ["round-0001"]
    assert stored.instance.has_dynamic_partition(ROUNDS, "round-0001")


def test_a_night_tells_what_a_round_would_lack_and_opens_none(stored):
    stored.session("a")
    with pytest.raises(SettingsError, match="AGENT_EVO_ANALYST_MODEL=NAME"):
        night(stored, analyst="anthropic")
    assert stored.rounds() == [] and night(stored) == ["round-0001"]


def test_the_nightly_round_makes_good_what_was_killed_the_night_before(stored):
    stored.session("a")
    night(stored)  # the daemon dies before it makes the run
    assert night(stored) == ["round-0001", "round-0002"]


def test_a_night_without_any_session_is_skipped_with_the_reason(stored):
    skipped = night(stored)
    assert isinstance(skipped, dg.SkipReason)
    assert "holds no finished session" in skipped.skip_message
