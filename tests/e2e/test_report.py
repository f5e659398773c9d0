"""The pages of the report in a real browser, as wide as a phone: they fit, and their links lead there."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("websockets", reason="the web server of Dagster brings it: pip install dagster-webserver")

from agent_evo_dagster.analysis.all_rounds import render_all_rounds
from agent_evo_dagster.analysis.findings import make_finding, to_frame
from agent_evo_dagster.analysis.report import render_report
from agent_evo_dagster.analysis.types import Severity
from tests.agent_evo_dagster.analysis.builders import call, segment_frame, step_frame
from tests.agent_evo_dagster.analysis.inputs import small_inputs
from tests.agent_evo_dagster.analysis.rounds import all_of, line
from tests.e2e.browser import Page, browser

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDTH = 360
WIDE = "document.documentElement.scrollWidth"
LONG = "w" * 400  # a word that no line holds


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is on the PATH")
    profile = tmp_path_factory.mktemp("profile")
    with browser(CHROMIUM, profile, width=WIDTH, height=740) as opened:
        metrics = {"width": WIDTH, "height": 740, "deviceScaleFactor": 2, "mobile": True}
        opened.call("Emulation.setDeviceMetricsOverride", **metrics)
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with long words wherever sessions can bring them."""
    failed = call(LONG, {"command": LONG}, "failure", error=LONG)
    steps = step_frame([{**failed, "outcome_reason": LONG}] * 6)
    told = {"severity": Severity.WARNING, "summary": LONG, "count": 1, "confidence": 0.5, "data": {}}
    finding = make_finding("session", "long", evidence=["st-3", LONG], **told)
    patches = small_inputs().patches.with_columns(description=pl.lit(LONG), diff=pl.lit(f"+{LONG}"))
    frames = {"steps": steps, "segments": segment_frame(steps), "session_findings": to_frame([finding])}
    inputs = small_inputs(request=LONG, patches=patches, **frames)
    path = tmp_path_factory.mktemp("pages") / "report.html"
    path.write_text(render_report(inputs).html)
    return path


def shown(page: Page, path: Path, name: str, scheme: str) -> None:
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.open(path.as_uri(), until="Words")
    if folder := os.environ.get("AGENT_EVO_SCREENSHOTS"):
        page.screenshot(Path(folder) / f"{name}-{scheme}.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_of_a_round_fits_a_phone(page: Page, report: Path, scheme: str) -> None:
    shown(page, report, "report", scheme)
    assert page.evaluate(WIDE) == WIDTH


def test_the_page_over_all_rounds_fits_a_phone(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text(render_all_rounds(all_of(line(1), line(2, request=LONG))).html)
    shown(page, path, "all-rounds", "dark")
    assert page.evaluate(WIDE) == WIDTH


def test_a_link_to_the_evidence_leads_to_the_step_and_its_link_back(page: Page, report: Path) -> None:
    shown(page, report, "evidence", "light")
    seen = "(e => {const b = e.getBoundingClientRect(); return b.top >= -1 && b.top < innerHeight})"
    first = "document.querySelector('.places a[href^=\"#step\"]')"
    target = page.evaluate(f"(a => (a.click(), a.hash))({first})")
    assert page.evaluate(f"{seen}(document.querySelector({json.dumps(target)}))")
    back = page.evaluate(f"(a => (a.click(), a.hash))(document.querySelector('{target} .meta a'))")
    assert page.evaluate(f"{seen}(document.querySelector({json.dumps(back)}))")


def test_the_keyboard_reaches_the_content_and_opens_a_folded_step(page: Page, report: Path) -> None:
    shown(page, report, "keyboard", "light")
    press(page, "Tab", 9)
    assert page.evaluate("document.activeElement.className") == "skip"
    press(page, "Enter", 13)
    assert page.evaluate("location.hash") == "#main"
    page.evaluate("document.querySelector('.step details:not([open]) summary').focus()")
    press(page, "Enter", 13)
    assert page.evaluate("document.activeElement.parentElement.open")


def press(page: Page, key: str, code: int) -> None:
    about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
    text = {"text": "\r"} if key == "Enter" else {}
    page.call("Input.dispatchKeyEvent", type="keyDown", **about, **text)
    page.call("Input.dispatchKeyEvent", type="keyUp", **about)
