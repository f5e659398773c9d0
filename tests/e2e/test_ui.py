"""The web interface of Dagster, as a person uses it: a round is materialised from there, then looked at.

The pictures are kept where AGENT_EVO_SCREENSHOTS names a folder, else they go with the test's own.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("websockets", reason="the web server of Dagster brings it: pip install dagster-webserver")

from tests.e2e.browser import Page, browser

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ROUNDS = ["round-0001", "round-0002"]
SMALL = {"max_steps": 6, "prompts_per_step": 4, "num_generations": 4, "evaluation_tasks": 20}
CONFIG = {
    "loggers": {"console": {"config": {}}},
    "ops": {"patch_evaluation": {"config": {"tasks": 20, "samples": 2, "seeds": 1, "steps": 2}}},
}
LAUNCH = """
mutation($asked: ExecutionParams!) {
  launchRun(executionParams: $asked) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
    ... on RunConfigValidationInvalid { errors { message } }
  }
}
"""
STATUS = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"


@dataclass(frozen=True)
class Ui:
    """A running web interface and the home behind it."""

    address: str
    home: Path

    def graphql(self, query: str, **variables: object) -> dict[str, Any]:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"{self.address}/graphql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            found = json.load(answer)
        assert "errors" not in found, found
        return found["data"]

    def materialize(self, key: str) -> str:
        """Launch a whole round from the interface and wait; returns the run's last status."""
        job = {
            "repositoryLocationName": "agent_evo_dagster",
            "repositoryName": "__repository__",
            "jobName": "evolution_round",
        }
        tags = [{"key": "dagster/partition", "value": key}]
        asked = {"selector": job, "runConfigData": CONFIG, "executionMetadata": {"tags": tags}}
        launched = self.graphql(LAUNCH, asked=asked)["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        return self._end_of(launched["run"]["runId"])

    def _end_of(self, run: str) -> str:
        deadline = time.monotonic() + 500
        while time.monotonic() < deadline:
            status = self.graphql(STATUS, id=run)["runOrError"]["status"]
            if status in ("SUCCESS", "FAILURE", "CANCELED"):
                return str(status)
            time.sleep(1)
        raise AssertionError(f"run {run} did not end")


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """`dagster dev` on a home of its own with the sample sessions, and two rounds open."""
    if CHROMIUM is None:
        pytest.skip("No Chromium on the PATH (chromium, chromium-browser or google-chrome): install one")
    home = tmp_path_factory.mktemp("ui") / "home"
    environment = environment_of(home)
    agent_evo(environment, "import", "samples")
    for _ in ROUNDS:
        pairs = [f"--set={name}={value}" for name, value in SMALL.items()]
        agent_evo(environment, "rounds", "open", *pairs)
    port = free_port()
    with served(environment, port, home.parent / "dagster.log"):
        yield Ui(f"http://127.0.0.1:{port}", home)


def environment_of(home: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("AGENT_EVO_", "DAGSTER"))
    }
    more = {
        "AGENT_EVO_HOME": str(home),
        "DAGSTER_HOME": str(home / "dagster"),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    return {**kept, **more, "OMP_NUM_THREADS": "1"}


def agent_evo(environment: dict[str, str], *arguments: str) -> None:
    code = "from agent_evo_dagster.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, env=environment, check=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def served(environment: dict[str, str], port: int, log: Path) -> Iterator[None]:
    command = [
        sys.executable,
        "-m",
        "dagster",
        "dev",
        "-w",
        "workspace.yaml",
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
    ]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=stream, stderr=stream, start_new_session=True
        )
    try:
        deadline = time.monotonic() + 300
        while not answers(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.5)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture(scope="module")
def finished(ui: Ui) -> Ui:
    """The same interface once both rounds were materialised from it."""
    for key in ROUNDS:
        assert ui.materialize(key) == "SUCCESS"
    return ui


@pytest.fixture(scope="module")
def page(finished: Ui, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    assert CHROMIUM
    with browser(CHROMIUM, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = os.environ.get("AGENT_EVO_SCREENSHOTS")
    return Path(named) if named else tmp_path_factory.mktemp("pictures")


def test_a_round_that_was_opened_is_materialised_from_the_interface(finished):
    for key in ROUNDS:
        status = json.loads((finished.home / "rounds" / key / "status.json").read_text())
        assert status["training"]["success"]


def test_the_graph_shows_every_group(finished, page, pictures):
    text = page.open(f"{finished.address}/asset-groups", until="training")
    for group in ("sessions", "analysis", "gate", "skills", "training", "rounds"):
        assert group in text
    page.screenshot(pictures / "graph.png")


def test_the_assets_of_a_group_are_described(finished, page, pictures):
    # The lineage of a group draws what fits; its list has them all.
    page.open(
        f"{finished.address}/locations/agent_evo_dagster/asset-groups/sessions/list", until="trajectories"
    )
    page.wait("hook_event_files")
    page.screenshot(pictures / "sessions.png")


def test_a_metadata_plot_over_rounds_is_drawn(finished, page, pictures):
    page.open(f"{finished.address}/assets/policy_evaluation?view=overview", until="after/sampled/accuracy")
    page.click("Plots")
    page.wait("When graphing values by partition")
    page.screenshot(pictures / "plots.png")
    assert page.evaluate("document.querySelectorAll('canvas').length") >= 4


def test_an_asset_shows_its_figures_tables_and_checks(finished, page, pictures):
    text = page.open(f"{finished.address}/assets/training_run?view=overview", until="wall_seconds")
    for said in (
        "One GRPO run in a process of its own",
        "agent-evo",
        "Hugging Face",
        "packages",
        "rollout/accuracy",
    ):
        assert said in text
    page.screenshot(pictures / "training_run.png")


def test_the_pictures_of_the_report_are_seen_in_the_interface(finished, page, pictures):
    page.open(f"{finished.address}/assets/analysis_report?view=overview", until="[Show Markdown]")
    page.click("[Show Markdown]")  # the last one: the plots
    page.screenshot(pictures / "report_plots.png")
    widths = page.evaluate("[...document.querySelectorAll('img')].map(image => image.naturalWidth)")
    assert len(widths) >= 2
    assert min(widths) > 100


def test_sensors_and_the_schedule_are_there_and_off(finished, page, pictures):
    text = page.open(f"{finished.address}/automation", until="nightly_round")
    assert "new_sessions" in text
    assert "new_decisions" in text
    page.screenshot(pictures / "automation.png")
    assert page.evaluate("document.querySelectorAll('input[type=checkbox]:checked').length") == 0


def test_the_report_is_one_page_that_needs_nothing_else(finished, page, pictures):
    report = finished.home / "reports" / ROUNDS[-1] / "report.html"
    text = page.open(report.as_uri(), until=ROUNDS[-1])
    for said in ("Held-out accuracy", "Training reward by step", "What was changed, and why"):
        assert said in text
    page.screenshot(pictures / "report.png")
    loaded = page.evaluate("performance.getEntriesByType('resource').map(item => item.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []
    assert page.evaluate("[...document.images].every(image => image.naturalWidth > 100)")
