"""Findings, sections, a usable answer and an analyst, that the tests of analysts share."""

import json
from pathlib import Path

import polars as pl

from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.analysts.budget import Budget
from agent_evo_dagster.analysts.registry import Choice, analyst_of
from agent_evo_dagster.analysts.types import Analysis, Material
from tests.agent_evo_dagster.patches.material import SECTIONS

FAILURES = "## When it fails\n\n- The same error twice: stop.\n"
ALL = {**SECTIONS, ("rllm-run", "failures"): FAILURES, ("traj-optimize", "steps"): "Steps.\n"}
GROUPS = {"rllm-config": "rllm", "rllm-run": "rllm"}
KEY = "sk-secret-0123456789"


def findings(*summaries: str) -> pl.DataFrame:
    rows = [
        {
            "finding_id": f"f-{number}",
            "origin": "session",
            "kind": "failure_recovery",
            "severity": "warning",
            "summary": summary,
            "evidence": ["s"],
            "count": 3,
            "target_skill": "rllm-run",
            "target_section": "failures",
            "confidence": 0.8,
            "hint": None,
            "data": json.dumps({"error": summary}),
        }
        for number, summary in enumerate(summaries)
    ]
    return pl.DataFrame(rows, schema=FINDING_SCHEMA)


def material(*summaries: str) -> Material:
    return Material(findings(*(summaries or ("python fails",))), ALL, GROUPS)


def answer(**changes: object) -> str:
    """An answer that can be used, with one patch of prose."""
    patch = {
        "kind": "prose",
        "findings": ["f-0"],
        "skill": "rllm-run",
        "section": "failures",
        "action": "append",
        "text": "- Read the log before another try.\n",
        "why": "the same failure three times",
    }
    seen = {"summary": "it fails", "findings": ["f-0"], "skill": None, "section": None, "confidence": 0.5}
    return json.dumps({"findings": [seen], "patches": [{**patch, **changes}]})


def choice(analyst: str, folder: Path, url: str | None = None, **options: object) -> Choice:
    fields = {"model": "m", "url": url, "key_env": None, "budget": Budget(), "prices": None, "folder": folder}
    return Choice(analyst, **{**fields, **options})


def analyse(given: Choice, *summaries: str, told: list[str] | None = None) -> Analysis:
    """An analysis that never sleeps."""
    analyst = analyst_of(given)
    if hasattr(analyst, "sleep"):
        object.__setattr__(analyst, "sleep", lambda _: None)
    return analyst.analyse(material(*summaries), (told if told is not None else []).append)
