"""Tests of ATIF: what is no document, what a document becomes, and that it comes back as it was."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from agent_evo_dagster.capture.atif import validate
from agent_evo_dagster.capture.companions import document_slices
from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.capture.sources.atif import documents_of
from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.capture.transcripts import gathered, put

CHILD: dict[str, Any] = {
    "schema_version": "ATIF-v1.7",
    "trajectory_id": "child",
    "agent": {"name": "helper", "version": "1"},
    "steps": [{"step_id": 1, "source": "user", "message": "sub task"}],
}
DOCUMENT: dict[str, Any] = {
    "schema_version": "ATIF-v1.7",
    "session_id": "run-1",
    "trajectory_id": "root",
    "agent": {"name": "some-agent", "version": "2.1", "model_name": "a-model", "extra": {"mode": "fast"}},
    "notes": "made by hand",
    "steps": [
        {"step_id": 1, "source": "system", "message": "You help."},
        {"step_id": 2, "source": "user", "message": "go", "timestamp": "2026-03-01T10:00:00Z"},
        {
            "step_id": 3,
            "source": "agent",
            "message": [{"type": "text", "text": "I look."}],
            "timestamp": "2026-03-01T10:00:01.5Z",
            "reasoning_content": "hm",
            "reasoning_effort": 0.5,
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "ls", "arguments": {"all": True}},
                {"tool_call_id": "c2", "function_name": "ask", "arguments": {}, "extra": {"retry": 1}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c1", "content": "a b", "extra": {"score": 1.5}},
                    {"source_call_id": "c2", "subagent_trajectory_ref": [{"trajectory_id": "child"}]},
                    {"content": "an answer to no call"},
                ]
            },
            "metrics": {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "cached_tokens": 4,
                "cost_usd": 0.25,
                "completion_token_ids": [5, 6],
                "logprobs": [-0.5, -1.0],
                "extra": {"cache_creation_input_tokens": 3},
            },
            "llm_call_count": 1,
        },
        {"step_id": 4, "source": "agent", "message": "", "is_copied_context": True},
    ],
    "final_metrics": {"total_prompt_tokens": 9, "total_steps": 4},
    "extra": {"nested": [{"deep": None}]},
    "subagent_trajectories": [CHILD],
}


def test_a_document_comes_back_as_it_was(tmp_path: Path) -> None:
    part = put(tmp_path, "atif/run-1/doc.json", json.dumps(DOCUMENT).encode())
    assert documents_of(gathered(tmp_path, [part]).events) == [DOCUMENT]


def test_a_document_becomes_trajectories(tmp_path: Path) -> None:
    part = put(tmp_path, "atif/run-1/doc.json", json.dumps(DOCUMENT).encode())
    steps = build_trajectories(gathered(tmp_path, [part]).events)
    assert steps.select("agent_id", "kind", "text").rows() == [
        (None, "lifecycle", "You help."),
        (None, "prompt", "go"),
        (None, "message", "I look."),
        (None, "tool_call", None),
        (None, "tool_call", None),
        (None, "message", None),
        ("child", "prompt", "sub task"),
    ]
    calls = steps.filter(kind="tool_call")
    assert calls.select("tool_name", "outcome").rows() == [("ls", "unknown"), ("ask", "unknown")]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("surprise",), 1),
        (("schema_version",), "ATIF-v2.0"),
        (("steps",), []),
        (("steps", 1, "step_id"), 3),
        (("steps", 1, "step_id"), "2"),
        (("steps", 1, "metrics"), {}),
        (("steps", 1, "timestamp"), "yesterday"),
        (("steps", 1, "message"), None),
        (("steps", 1, "message"), [{"type": "image", "text": "x"}]),
        (("steps", 1, "message"), [{"type": "image", "source": {"media_type": "image/bmp", "path": "x"}}]),
        (("steps", 2, "llm_call_count"), 0),
        (("steps", 2, "metrics", "prompt_tokens"), 1.5),
        (("steps", 2, "tool_calls", 0, "arguments"), "ls"),
        (("steps", 2, "tool_calls", 1, "tool_call_id"), "c1"),
        (("steps", 2, "observation", "results", 0, "source_call_id"), "c9"),
        (("steps", 2, "observation", "results", 1, "subagent_trajectory_ref"), [{"trajectory_id": "x"}]),
        (("steps", 2, "observation", "results", 1, "subagent_trajectory_ref"), [{"session_id": "run-1"}]),
        (("subagent_trajectories",), [CHILD, CHILD]),
        (("subagent_trajectories", 0, "trajectory_id"), None),
    ],
)
def test_what_breaks_a_rule_is_refused(place: tuple[str | int, ...], value: object) -> None:
    document = copy.deepcopy(DOCUMENT)
    spot: Any = document
    for name in place[:-1]:
        spot = spot[name]
    spot[place[-1]] = value
    with pytest.raises(CaptureError, match="none"):
        validate(document)


def test_the_document_itself_is_valid() -> None:
    assert validate(DOCUMENT).model_dump(mode="json", exclude_unset=True) == DOCUMENT


def test_a_document_that_is_none_is_quarantined(tmp_path: Path) -> None:
    bad = [b"{", json.dumps({**DOCUMENT, "steps": []}).encode()]
    parts = [put(tmp_path, f"atif/run-1/{n}.json", data) for n, data in enumerate(bad)]
    found = gathered(tmp_path, parts)
    assert (found.lines, found.quarantine.height, found.events.height) == (2, 2, 0)


def test_documents_are_imported_and_taken_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "trajectory.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "in" / "settings.json").write_text("{}")
    report = import_sessions(tmp_path / "in", tmp_path / "spool")
    assert (report.files, report.sessions, report.skipped) == (1, {"run-1"}, [])
    (part,) = document_slices(tmp_path / "spool", [])
    assert (part.file, part.sessions) == ("atif/run-1/trajectory.json", ("run-1",))
    assert document_slices(tmp_path / "spool", [part]) == []
