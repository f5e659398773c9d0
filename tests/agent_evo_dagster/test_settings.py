"""Settings: what the environment says, and what it may not say."""

import socket
import subprocess
from pathlib import Path

import pytest

from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.settings import WEEK, Settings, read_settings


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_EVO_HOME", raising=False)


def test_the_environment_names_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path))
    assert read_settings(Path("/elsewhere")).root == tmp_path


@pytest.mark.parametrize("value", [None, ""])
def test_the_default_home_counts_where_the_environment_names_none(monkeypatch, tmp_path, value):
    if value is not None:
        monkeypatch.setenv("AGENT_EVO_HOME", value)
    assert read_settings(tmp_path).root == tmp_path


def test_everything_lies_in_the_home(tmp_path):
    settings = Settings(home=tmp_path)
    places = [settings.spool, settings.warehouse, settings.runs, settings.reports, settings.rounds]
    places += [settings.bank_snapshots, settings.bank_path]
    assert {place.parent for place in places} == {tmp_path}


def test_a_value_that_cannot_be_used_names_its_variable(monkeypatch):
    monkeypatch.setenv("AGENT_EVO_POLICY", "maybe")
    with pytest.raises(
        SettingsError, match="AGENT_EVO_POLICY='maybe': Input should be 'auto', 'manual' or 'two_person'"
    ):
        read_settings()


def test_detectors_of_ones_own_are_named_with_commas_between(monkeypatch):
    monkeypatch.setenv("AGENT_EVO_DETECTORS", "a.b:C, d:E,")
    assert read_settings().detectors == ("a.b:C", "d:E")


def test_the_analyst_is_the_rules_unless_the_environment_names_another(monkeypatch):
    assert read_settings().analyst == "rules"
    monkeypatch.setenv("AGENT_EVO_ANALYST", "openai")
    monkeypatch.setenv("AGENT_EVO_ANALYST_MONEY", "0.5")
    assert (read_settings().analyst, read_settings().analyst_money) == ("openai", 0.5)


@pytest.mark.parametrize("url", ["ftp://x", "https://ada:secret@host/v1"])
def test_an_analysts_url_is_plain_http_and_holds_no_login(monkeypatch, url):
    monkeypatch.setenv("AGENT_EVO_ANALYST_URL", url)
    with pytest.raises(SettingsError, match="AGENT_EVO_ANALYST_URL"):
        read_settings()


def test_judges_are_asked_for_by_name_and_one_that_is_none_is_refused(monkeypatch):
    assert read_settings().judges == ()
    monkeypatch.setenv("AGENT_EVO_JUDGES", "llm, rollout")
    assert read_settings().judges == ("llm", "rollout")
    monkeypatch.setenv("AGENT_EVO_JUDGES", "llm,oracle")
    with pytest.raises(SettingsError, match=r"AGENT_EVO_JUDGES.*'rollout' or 'llm'"):
        read_settings()


@pytest.mark.parametrize(
    "name", ["ANALYST_SECONDS", "JUDGE_SECONDS", "ROLLOUT_SECONDS", "HEARTBEAT_TIMEOUT", "TIME_LIMIT"]
)
@pytest.mark.parametrize("value", ["0", "-1", "1e9", "1e300", "inf", "nan"])
def test_seconds_are_no_more_than_what_waits_for_them_can_take(monkeypatch, name, value):
    monkeypatch.setenv(f"AGENT_EVO_{name}", value)
    with pytest.raises(SettingsError, match=f"AGENT_EVO_{name}"):
        read_settings()


def test_the_longest_time_that_may_be_asked_for_is_one_that_a_socket_takes(monkeypatch):
    monkeypatch.setenv("AGENT_EVO_ROLLOUT_SECONDS", f"{WEEK}")
    assert read_settings().rollout_seconds == WEEK
    with socket.socket() as one:
        one.settimeout(WEEK)
    assert subprocess.run(["true"], capture_output=True, timeout=WEEK, check=True).returncode == 0
