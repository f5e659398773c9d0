"""`agent-evo rounds`, `report`, `doctor`: what a person sees, and how bad input is refused."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.cli import project, rounds
from agent_evo_dagster.cli.main import main
from agent_evo_dagster.rounds import all_rounds
from agent_evo_dagster.rounds.configuration import round_config
from agent_evo_dagster.rounds.failures import StepFailure, record_failure
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.warehouse import Warehouse
from tests.agent_evo_dagster.analysis.builders import evaluation_frame
from tests.agent_evo_dagster.rollouts.material import written

ROOT = Path(__file__).parents[3]
BANK = ROOT / "skill_bank"
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What would be run in Dagster; every run succeeds at once."""
    calls: list[tuple[str, ...]] = []

    def launch(root: Path, settings: Settings, key: str, *job: str) -> int:
        calls.append((key, *job))
        return 0

    monkeypatch.setattr(rounds, "launch", launch)
    return calls


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in ("AGENT_EVO_BANK", "AGENT_EVO_POLICY", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    return Settings(home=tmp_path / "home")


@pytest.fixture
def cli(settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], launched) -> Cli:
    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["agent-evo", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.fixture
def captured(settings) -> None:
    import_sessions(ROOT / "samples", settings.spool)


def refused(answer: tuple[int, str, str], *said: str) -> None:
    """One message on stderr that begins with the command's name, exit code 1, and no traceback."""
    code, out, err = answer
    assert code == 1
    assert out == ""
    assert err.startswith("agent-evo: ")
    assert "Traceback" not in err
    for text in said:
        assert text in err


def test_opening_a_round_freezes_its_input_and_registers_it(cli, captured, settings, launched):
    code, out, _ = cli(
        "rounds", "open", "--seed", "3", "--set", "max_steps=4", "--request", "learning rate 1e-4"
    )
    assert code == 0
    assert "Opened round-0001. Run it: agent-evo rounds run round-0001" in out
    assert launched == [("round-0001",)]
    (manifest,) = RoundStore(settings.rounds).all()
    assert (manifest.seed, manifest.overrides, manifest.request) == (
        3,
        {"max_steps": 4},
        "learning rate 1e-4",
    )
    assert len(manifest.slices) == 6


def test_running_opens_one_round_after_the_other(cli, captured, launched, settings):
    assert cli("rounds", "run", "--count", "2")[0] == 0
    assert launched == [("round-0001", "evolution_round"), ("round-0002", "evolution_round")]


@pytest.mark.parametrize("part", rounds.JOBS)
def test_a_part_of_an_open_round_can_be_run(cli, captured, launched, part):
    cli("rounds", "open")
    assert cli("rounds", "run", "round-0001", "--only", part)[0] == 0
    assert launched[-1] == ("round-0001", rounds.JOBS[part])


def test_a_round_without_new_sessions_says_so(cli, launched):
    _, out, _ = cli("rounds", "open", "--allow-empty")
    assert "round-0001: no finished session is new; this round learns from its training alone." in out


def test_a_failed_run_ends_with_its_code_and_the_command_that_goes_on(cli, captured, monkeypatch):
    monkeypatch.setattr(rounds, "launch", lambda *_: 7)
    code, _, err = cli("rounds", "run")
    assert code == 7
    assert "round-0001 did not finish" in err
    assert "go on with: agent-evo rounds run round-0001\n" in err


def test_an_interrupted_run_ends_with_the_command_that_goes_on(cli, captured, monkeypatch):
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(rounds, "launch", interrupted)
    code, out, err = cli("rounds", "run")
    assert code == 130 and "round-0001 is being run." in out
    assert err == "round-0001 was interrupted; go on with: agent-evo rounds run round-0001\n"


def test_rounds_are_listed_by_number(cli, captured, settings):
    assert "No round is open yet. Open one: agent-evo rounds open" in cli("rounds", "list")[1]
    for _ in range(11):
        open_round(settings, BANK, RoundRequest())
    listed = re.findall(r"round-\d+", cli("rounds", "list")[1])
    assert listed == [f"round-{number:04d}" for number in range(1, 12)]
    manifests = json.loads(cli("rounds", "list", "--json")[1])
    assert [item["number"] for item in manifests] == list(range(1, 12))


def test_an_open_round_shows_how_to_run_it(cli, captured):
    cli("rounds", "open")
    out = cli("rounds", "show", "round-0001")[1]
    assert "round-0001 is open and not finished: 6 sessions" in out
    assert "agent-evo rounds run round-0001" in out


def test_a_round_that_failed_is_told_with_step_and_reason_everywhere(cli, captured, settings):
    cli("rounds", "open")
    reason = "the model answered twice\nwith [b]nothing"
    failure = StepFailure(step="skill_patches", message=reason, at=datetime(2026, 1, 5, tzinfo=UTC))
    record_failure(settings.rounds / "round-0001", failure)
    said = "round-0001 failed at skill_patches: the model answered twice with [b]nothing\n"
    go_on = "go on: agent-evo rounds run round-0001"
    listed = cli("rounds", "list")[1]
    assert "│ failed at skill_patches │" in listed and said in listed and go_on in listed
    assert said in cli("rounds", "show", "round-0001")[1]
    page = cli("report", "--all", "--text")[1]
    assert "| round-0001 | base of its model | failed at skill_patches |" in page
    assert "answered twice with" in page
    (told,) = json.loads(cli("rounds", "list", "--json")[1])
    assert (told["state"], told["failures"][0]["step"]) == ("failed", "skill_patches")
    record_failure(settings.rounds / "round-0001", failure.model_copy(update={"message": "x" * 999}))
    assert "x" * 301 not in cli("rounds", "list")[1] and "x" * 999 in cli("rounds", "show", "round-0001")[1]
    record_failure(settings.rounds / "round-0001", failure)
    code, _, err = cli("rounds", "watch", "round-0001")
    assert code == 3 and "failed at skill_patches: the model answered" in err and go_on in err


def test_opening_says_which_rounds_it_does_not_go_on_from(cli, captured, settings):
    cli("rounds", "open")
    folder = settings.runs / "round-0001" / "train"
    folder.mkdir(parents=True)
    result = {"job": "train", "steps": 1, "checkpoint_sha256": "c" * 64, "init_sha256": "i" * 64}
    spent = {"packages": {}, "peak_memory_bytes": 1, "wall_seconds": 1, "cpu_seconds": 1}
    (folder / "result.json").write_text(json.dumps(result | spent))
    said = "round-0002 starts from the base of its model, not from round-0001 (then: idle): only a round that"
    go_on = "run it to its end: agent-evo rounds run round-0001"
    opened, shown = cli("rounds", "open")[1], cli("rounds", "show", "round-0002")[1]
    assert said in opened and go_on in opened
    assert said in shown and go_on not in shown


@pytest.mark.parametrize("command", [("rounds", "show"), ("rounds", "run"), ("report",)])
def test_an_unknown_round_is_refused_with_what_there_is(cli, captured, command):
    cli("rounds", "open")
    refused(cli(*command, "round-0042"), "Round round-0042 was asked for", "Open rounds: round-0001.")


@pytest.mark.parametrize("command", [("rounds", "show"), ("rounds", "run"), ("report",)])
@pytest.mark.parametrize(
    "key", ["a/b", "../../etc", "a,b", "round-1", "round-0001\n", "round-0001.", "x" * 300]
)
def test_what_is_no_round_key_is_refused_with_the_rule(cli, settings, command, key):
    answer = cli(*command, key)
    refused(answer, "is not a round key", "agent-evo rounds open")
    assert len(answer[2]) < 500
    assert not settings.root.exists()


def test_an_empty_spool_is_refused_with_the_ways_to_fill_it(cli, settings):
    answer = cli("rounds", "open")
    refused(answer, "holds no finished session", "agent-evo import samples", "--allow-empty")
    assert RoundStore(settings.rounds).keys() == []


def test_an_empty_spool_names_the_files_that_cannot_be_read(cli, settings):
    (settings.spool / "hooks/folder.jsonl").mkdir(parents=True)
    refused(cli("rounds", "open"), "Files that cannot be read: hooks/folder.jsonl: Is a directory.")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("learning_rate", "without a value. Give one: --set learning_rate=VALUE. Step size of AdamW"),
        ("max_steps=", "without a value. Give one: --set max_steps=VALUE"),
        ("lerning_rate=1", "give NAME=VALUE"),
        ("learning_rate=7", "learning_rate = 7"),
        ("max_steps=few", "max_steps = 'few'"),
    ],
)
def test_a_setting_that_cannot_be_trained_opens_no_round(cli, captured, settings, setting, said):
    refused(cli("rounds", "open", "--set", setting), said)
    assert RoundStore(settings.rounds).keys() == []


def test_a_text_may_be_set_to_nothing(cli, captured, settings):
    assert cli("rounds", "open", "--set", "tools=")[0] == 0
    (manifest,) = RoundStore(settings.rounds).all()
    assert manifest.overrides == {"tools": ""}


@pytest.mark.parametrize("command", ["run", "open"])
def test_a_request_of_which_nothing_is_understood_opens_no_round_unless_told_to(
    cli, captured, settings, command
):
    asked = ("rounds", command, "--request", "make it better")
    refused(cli(*asked), "Of the request 'make it better' nothing was understood", "--anyway")
    assert not settings.rounds.exists() and not settings.bank_path.exists()
    code, out, _ = cli(*asked, "--anyway")
    assert code == 0 and "round-0001: not understood, and without effect: make it better\n" in out


def test_what_was_not_understood_of_a_request_is_told_and_the_rest_is_done(cli, captured, settings):
    code, out, _ = cli("rounds", "open", "--request", "[red]gently[/red], 4 steps")
    assert code == 0 and "round-0001: not understood, and without effect: [red]gently[/red]\n" in out


def test_words_that_ask_for_nothing_special_are_no_request_that_fails(cli, captured):
    code, out, _ = cli("rounds", "open", "--request", "please train")
    assert code == 0 and "not understood" not in out


def test_a_value_out_of_the_range_of_its_skill_is_told_and_trained_with(cli, captured, settings):
    code, out, _ = cli("rounds", "open", "--set", "learning_rate=0.05")
    said = "learning_rate = 0.05 is outside its range [1e-06, 0.002] in rllm-config/optimisation"
    assert code == 0 and f"round-0001: {said}; it trains with that, as asked.\n" in out
    (manifest,) = RoundStore(settings.rounds).all()
    rows = {row.name: row for row in round_config(manifest, SkillBank.open(settings.bank_path)).rows}
    assert rows["learning_rate"].why.endswith(said.partition(" is ")[2])
    assert "outside" not in cli("rounds", "open", "--set", "learning_rate=1e-4")[1]


@pytest.mark.parametrize("command", ["run", "open"])
def test_a_round_that_would_have_nobody_to_ask_is_not_opened(cli, captured, settings, monkeypatch, command):
    monkeypatch.setenv("AGENT_EVO_JUDGES", "llm")
    refused(cli("rounds", command), "judge llm: AGENT_EVO_JUDGES names llm, and no service that it asks")
    assert not settings.rounds.exists() and not settings.bank_path.exists()


def test_an_open_round_lacks_only_what_it_has_not_asked_yet(cli, captured, settings, launched, monkeypatch):
    cli("rounds", "open")
    monkeypatch.setenv("AGENT_EVO_JUDGES", "llm")
    monkeypatch.setenv("AGENT_EVO_ANALYST", "openai")
    for part in ("all", "skills"):
        refused(cli("rounds", "run", "round-0001", "--only", part), "\n  analyst: ", "\n  judge llm: ")
    stored = Warehouse(settings.warehouse)
    stored.write(["skill_patches"], "round-0001", pl.DataFrame({"id": ["p"]}))
    told = cli("rounds", "run", "round-0001")
    refused(told, "\n  judge llm: ")
    assert "analyst: " not in told[2]
    stored.write(["patch_evaluation"], "round-0001", pl.DataFrame({"id": ["p"]}))
    assert cli("rounds", "run", "round-0001")[0] == 0
    assert launched[-1] == ("round-0001", "evolution_round")


@pytest.mark.parametrize("part", ["training", "adopt"])
def test_a_part_that_asks_nobody_lacks_nobody(cli, captured, launched, monkeypatch, part):
    cli("rounds", "open")
    monkeypatch.setenv("AGENT_EVO_JUDGES", "llm")
    assert cli("rounds", "run", "round-0001", "--only", part)[0] == 0
    assert launched[-1] == ("round-0001", rounds.JOBS[part])


def test_a_new_round_that_only_trains_lacks_nobody(cli, captured, launched, monkeypatch):
    monkeypatch.setenv("AGENT_EVO_JUDGES", "llm")
    assert cli("rounds", "run", "--only", "training")[0] == 0
    assert launched == [("round-0001", "train_policy")]


@pytest.mark.parametrize(
    "more",
    [
        ("--count", "2"),
        ("--seed", "1"),
        ("--set", "max_steps=3"),
        ("--allow-empty",),
        ("--request", "x"),
        ("--anyway",),
    ],
)
def test_options_of_a_new_round_are_not_ignored_for_an_open_one(cli, captured, more):
    cli("rounds", "open")
    refused(cli("rounds", "run", "round-0001", *more), "The input of round-0001 is frozen")


@pytest.mark.parametrize("part", ["skills", "adopt"])
def test_a_part_that_goes_on_from_a_round_needs_one(cli, captured, settings, part):
    refused(cli("rounds", "run", "--only", part), f"--only {part} was asked for without a round")
    assert RoundStore(settings.rounds).keys() == []


def test_an_unknown_part_is_refused(cli):
    refused(
        cli("rounds", "run", "--only", "everything"), "the parts of a round are all, skills, training, adopt"
    )


def test_an_environment_that_cannot_be_used_is_refused(cli, monkeypatch):
    monkeypatch.setenv("AGENT_EVO_POLICY", "maybe")
    refused(cli("rounds", "list"), "AGENT_EVO_POLICY='maybe'")


def test_an_unknown_skill_is_refused(cli, captured):
    cli("rounds", "open")
    refused(cli("skills", "versions", "rllm-confg"), "rllm-confg")


def test_a_round_without_a_report_says_how_to_make_it(cli, captured):
    cli("rounds", "open")
    refused(cli("report", "round-0001"), "has no report yet", "Run it: agent-evo rounds run round-0001")


def test_a_report_is_given_as_paths_or_as_text(cli, captured, settings):
    cli("rounds", "open")
    folder = settings.reports / "round-0001"
    folder.mkdir(parents=True)
    (folder / "report.html").write_text("<p>")
    (folder / "report.md").write_text("# Round 1\n")
    assert cli("report", "round-0001")[1].split() == [str(folder / "report.html"), str(folder / "report.md")]
    assert cli("report", "round-0001", "--text")[1].startswith("# Round 1")


def test_all_rounds_are_put_on_one_page_whose_links_lead_to_their_reports(cli, captured, settings, tmp_path):
    cli("rounds", "open", "--request", "20 steps")
    code, out, _ = cli("report", "--all")
    assert (code, out.strip()) == (0, str(settings.reports / "index.html"))
    assert "<h1>1 round; 0 patches in the skills, 0 taken out again.</h1>" in Path(out.strip()).read_text()
    assert "| round-0001 | base of its model | open | not measured |" in cli("report", "--all", "--text")[1]
    folder = settings.reports / "round-0001"
    folder.mkdir()
    (folder / "report.html").write_text("<p>")
    cli("report", "--all")
    assert 'href="round-0001/report.html"' in (settings.reports / "index.html").read_text()
    elsewhere = tmp_path / "my pages" / "all.html"
    assert cli("report", "--all", "-o", str(elsewhere))[0] == 0
    cli("report", "--all", "-o", str(elsewhere.with_suffix(".md")))
    assert elsewhere.with_suffix(".md").read_text().startswith("# 1 round; ")
    (link,) = re.findall(r'href="([^"#]*report.html)"', elsewhere.read_text())
    assert (elsewhere.parent / link).resolve() == folder / "report.html"


def test_a_round_whose_frames_cannot_be_told_hides_no_other_on_the_page(cli, captured, settings):
    for _ in range(2):
        cli("rounds", "open", "--allow-empty")
    warehouse = Warehouse(settings.warehouse)
    scores = evaluation_frame({"before": [True], "after": [True]}).with_columns(reward=float("nan"))
    warehouse.write(["policy_evaluation"], "round-0001", scores)
    warehouse.write(["skill_patches"], "round-0001", pl.DataFrame({"id": ["p"]}))
    (settings.rounds / "round-0001/status.json").write_text("{")
    code, out, _ = cli("report", "--all", "--text")
    assert code == 0
    assert "- round-0001: its scores cannot be told: " in out and "its patches cannot be told: " in out
    assert "| round-0001 | base of its model | unreadable | not measured |" in out
    assert "| round-0002 | base of its model | open | not measured |" in out


def test_scores_are_told_of_the_rounds_that_are_shown(cli, captured, settings, monkeypatch):
    monkeypatch.setattr(all_rounds, "MOST_ROUNDS", 1)
    for key in ("round-0001", "round-0002"):
        cli("rounds", "open", "--allow-empty")
        scores = evaluation_frame({"before": [True], "after": [True]})
        Warehouse(settings.warehouse).write(["policy_evaluation"], key, scores)
    told = cli("report", "--all", "--text")[1]
    assert "before round-0002" in told and "before round-0001" not in told


def test_a_report_is_asked_for_of_one_round_or_of_all(cli, captured):
    cli("rounds", "open")
    for arguments in ((), ("round-0001", "--all")):
        refused(cli("report", *arguments), "Say which report", "agent-evo report round-0001")


def test_a_report_is_made_anew_only_from_what_the_round_stored(cli, captured, tmp_path):
    cli("rounds", "open")
    refused(
        cli("report", "round-0001", "-o", str(tmp_path / "x.html")), "is not stored", "Materialise it first"
    )
    assert not (tmp_path / "x.html").exists()


def test_a_manifest_that_was_damaged_is_named(cli, captured, settings):
    cli("rounds", "open")
    path = settings.rounds / "round-0001/manifest.json"
    path.write_text("{")
    refused(cli("rounds", "show", "round-0001"), f"The manifest {path} of round-0001 cannot be read")


def test_doctor_passes_where_all_is_there(cli, captured):
    code, out, _ = cli("doctor")
    assert code == 0
    assert "MEND" not in out
    assert "0 rounds" in out


def test_doctor_notes_a_folder_that_nothing_captures_and_a_round_that_failed(
    cli, captured, settings, tmp_path, monkeypatch
):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    cli("rounds", "open")
    failure = StepFailure(step="skill_patches", message="no", at=datetime(2026, 1, 5, tzinfo=UTC))
    record_failure(settings.rounds / "round-0001", failure)
    code, out, _ = cli("doctor")
    assert code == 0
    assert (
        "note  hooks: nothing captures the sessions of this folder. To capture them: agent-evo hooks" in out
    )
    assert "note  round-0001 failed at skill_patches; go on with: agent-evo rounds run round-0001\n" in out


def test_doctor_says_what_mends_an_empty_spool_and_a_missing_package(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "trl", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "trl" else object())
    code, out, _ = cli("doctor")
    assert code == 1
    assert "MEND  package trl is missing: pip install 'agent-evo-dagster[hf]'" in out
    assert "is empty: agent-evo hooks install --project DIR, or agent-evo import PATH" in out


def test_doctor_names_what_captures_each_event_twice(cli, captured, tmp_path, monkeypatch):
    settings = json.dumps({"enabledPlugins": {"agent-evo@agent-evo": True}})
    (tmp_path / "settings.json").write_text(settings)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert "ok    hooks: the plugin agent-evo@agent-evo in" in cli("doctor")[1]
    monkeypatch.chdir(tmp_path)
    cli("hooks", "install", "--project", ".")
    code, out, _ = cli("doctor")
    assert code == 1 and "MEND  hooks: each event here is captured 2 times, by the hook in" in out


def test_doctor_tells_of_each_service_whether_it_could_be_asked_and_asks_none(
    cli, captured, settings, monkeypatch
):
    assert "analyst" not in cli("doctor")[1]
    monkeypatch.setenv("AGENT_EVO_ANALYST", "openai")
    monkeypatch.setenv("AGENT_EVO_ANALYST_MODEL", "m")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr("httpx.Client", None)
    code, out, _ = cli("doctor")
    assert code == 0 and "ok    analyst: openai, m: configured; not asked\n" in out and "sk-secret" not in out
    monkeypatch.delenv("OPENAI_API_KEY")
    code, out, _ = cli("doctor")
    assert code == 1 and "MEND  analyst: The analysis needs a key, and the variable OPENAI_API_KEY is" in out


def test_doctor_tells_of_a_bank_that_is_named_and_not_there(cli, captured, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_EVO_BANK", str(tmp_path / "my bank"))
    code, out, _ = cli("doctor")
    assert code == 1 and f"MEND  AGENT_EVO_BANK names {tmp_path}/my bank, where nothing is" in out
    assert f"agent-evo init '{tmp_path}/my bank'\n" in out
    shutil.copytree(BANK, tmp_path / "my bank")
    assert "AGENT_EVO_BANK" not in cli("doctor")[1]


def test_doctor_looks_for_the_client_and_the_tasks_that_a_judge_needs(cli, captured, settings, monkeypatch):
    monkeypatch.setenv("AGENT_EVO_JUDGES", "rollout")
    monkeypatch.setenv("AGENT_EVO_ROLLOUT_SAMPLES", "1")
    monkeypatch.setenv("PATH", str(settings.root))
    written(settings.tasks, "rllm-run", 19)
    written(settings.tasks, "rllm-config", 20)
    code, out, _ = cli("doctor")
    assert code == 1 and "MEND  judge rollout: Claude Code was asked for" in out
    assert "MEND  tasks for rllm-config: 20 of the split judge; of each 6 rollouts are needed" in out
    monkeypatch.setenv("AGENT_EVO_ROLLOUT_SAMPLES", "6")
    assert "ok    tasks for rllm-config: 20 of the split judge\n" in cli("doctor")[1]
    assert "MEND  tasks for rllm-run: 19 of the split judge; 20 are needed" in out


def test_doctor_names_a_broken_bank(cli, captured, settings):
    cli("rounds", "open")
    (settings.bank_path / "rllm/rllm-config/base.md").write_text("no front matter")
    code, out, _ = cli("doctor")
    assert code == 1
    assert re.search(r"MEND  skill bank .*rllm-config", out)


def test_without_dagster_a_run_names_the_line_that_installs_it(settings, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'agent-evo-dagster\[dagster\]'"):
        project.launch(ROOT, settings, "round-0001")


def test_without_a_checkout_a_command_says_what_it_needs(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("AGENT_EVO_PROJECT", str(tmp_path))
    refused(cli("rounds", "list"), "no checkout of it", "set AGENT_EVO_PROJECT to one")


def test_an_instance_gets_the_shipped_settings_once(settings):
    environment = project.dagster_environment(ROOT, settings)
    file = Path(environment["DAGSTER_HOME"]) / "dagster.yaml"
    assert file.read_bytes() == (ROOT / "deploy/dagster.yaml").read_bytes()
    file.write_text("mine: true\n")
    project.dagster_environment(ROOT, settings)
    assert file.read_text() == "mine: true\n"
    assert environment["AGENT_EVO_HOME"] == str(settings.root)
