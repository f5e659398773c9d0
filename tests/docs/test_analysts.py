"""What the page on analysts shows is what there is: settings, their defaults, limits and texts."""

import json
import re
import shlex
from pathlib import Path
from typing import get_args

import pytest

from agent_evo_dagster.analysts import answer, anthropic, openai, prompt
from agent_evo_dagster.analysts.http import FIRST_WAIT, PASSING
from agent_evo_dagster.analysts.jury import question, self_test
from agent_evo_dagster.analysts.jury.rubric import shipped_knowns, shipped_rubric
from agent_evo_dagster.capture.usage import read_prices
from agent_evo_dagster.settings import AnalystName, ServiceName, Settings, read_settings

PAGE = (Path(__file__).parents[2] / "docs" / "analysts.md").read_text()
BOUNDS = ("calls", "tokens", "money", "seconds", "output_tokens")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def row_of(name: str) -> list[str]:
    """The cells beside a name of a table."""
    (line,) = re.findall(rf"^\| `?{re.escape(name)}`? \| (.*) \|$", PAGE, re.MULTILINE)
    return [cell.strip(" `") for cell in line.split(" | ")]


def test_every_name_is_told():
    for name in get_args(AnalystName):
        assert row_of(name)
    assert all(f"`{name}`" in PAGE for name in get_args(ServiceName))
    assert anthropic.URL in PAGE and openai.URL in PAGE
    assert row_of("AGENT_EVO_ANALYST_KEY_ENV")[1] == f"{anthropic.KEY_VARIABLE}`, `{openai.KEY_VARIABLE}"


@pytest.mark.parametrize("bound", BOUNDS)
def test_budgets_have_the_defaults_that_are_told(bound):
    told = row_of(f"_{bound.upper()}")[1:]
    for who, default in zip(("analyst", "judge"), told, strict=True):
        value = Settings.model_fields[f"{who}_{bound}"].default
        assert default == ("no limit" if value is None else f"{value:.0f}")


def test_every_setting_of_both_is_told():
    told = {f"analyst_{name}" for name in ("model", "url", "key_env", *BOUNDS)}
    told |= {name.replace("analyst", "judge") for name in told} | {"judge_service", "judge_samples"}
    assert told == {name for name in Settings.model_fields if name.startswith(("analyst_", "judge_"))}


def test_the_limits_are_told():
    limits = (
        question.MAX_TEXT,
        question.MAX_REST,
        prompt.MAX_SECTIONS,
        prompt.MAX_SECTION,
        prompt.MAX_EXCERPT,
    )
    assert all(f"{limit:,} " in PAGE for limit in limits)
    assert f"{prompt.MAX_FINDINGS} at most, the gravest" in PAGE
    assert f"{question.MAX_FAILURES} kinds at most" in PAGE
    assert answer.MAX_PATCHES == 4 and "Its drafts, four at most" in PAGE
    *others, last = sorted(PASSING - {408})
    assert f"says 408, {', '.join(str(one) for one in others if one != 529)} or {last}" in PAGE
    assert FIRST_WAIT == 1 and "after 1, 2, 4 seconds" in PAGE


def test_the_rubric_and_the_test_of_the_judge_are_told():
    assert all(row_of(name) for name in shipped_rubric().names)
    assert shipped_rubric().guards == {"safe", "honest"} and "less `safe` or `honest`" in PAGE
    knowns = shipped_knowns()
    assert [row_of(one.name)[0] for one in knowns] == [one.kind for one in knowns]
    assert f"with {len(knowns) * self_test.SAMPLES * 2} questions" in PAGE
    samples = Settings.model_fields["judge_samples"].default
    assert f"gets {samples} (`AGENT_EVO_JUDGE_SAMPLES`, 2 to 20): {2 * samples} questions" in PAGE


def test_the_settings_of_the_examples_and_the_price_are_read(monkeypatch, tmp_path):
    exported = [shlex.split(line)[1:] for block in blocks("bash") for line in block.splitlines()
                if line.startswith("export ")]  # fmt: skip
    for name, value in (pair.split("=", 1) for pairs in exported[1:] for pair in pairs):
        monkeypatch.setenv(name, value)
    found = read_settings(tmp_path)
    assert (found.analyst, found.analyst_key_env) == ("openai", "none")
    assert found.analyst_url == "http://127.0.0.1:8000/v1"
    (tmp_path / "prices.json").write_text(*blocks("json"))
    assert json.loads(*blocks("json")) and read_prices(tmp_path / "prices.json")["NAME"].output == 15
