"""Tests of the joining of hooks and transcripts, on the recordings of the real client and on made lines."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.capture.spools import legacy, record
from tests.agent_evo_dagster.capture.transcripts import (
    SESSION,
    call,
    gathered,
    prompt,
    put,
    recorded,
    result,
    said,
    transcript,
)

MAIN, SKILLS = "68347ea1-aa01-447a-91db-7c265dda2fb2", "4b43c4ab-6c4d-4079-b210-b2f824d06ea7"
MCP, SLASH = "2bdab53a-2720-4572-8fec-aa93ee83c62c", "73c99e32-ed30-46ac-a86f-e91541618d8b"
DENY, HANG = "bccaa4e8-73fb-45ba-9efd-f7925c2added", "a927356c-30ab-4f69-9f19-73b1f8b4770f"
# Tool calls by session, counted by hand in the recordings; 3 of MAIN's and 3 of SKILLS' are a subagent's.
CALLS = {MAIN: 19, SKILLS: 9, MCP: 3, SLASH: 1, DENY: 2, HANG: 1}
NO_TRANSCRIPT = ("41e214bc", "65508de5", "951fcd28")  # sessions without calls
# What only the transcript tells, where all hooks are there: (ends, prompts, messages).
ADDED = {
    MAIN: (0, 2, 2),  # a resumed turn that no hook file holds, what the subagent was asked and answered
    SKILLS: (0, 0, 1),  # the forked skill's answer
    HANG: (1, 0, 0),  # that the user broke off the call
}


def _coverage(frame: pl.DataFrame) -> dict[str, tuple[int, int, int]]:
    columns = ["session_id", "calls_both", "calls_hook_only", "calls_transcript_only"]
    return {row[0]: row[1:] for row in frame.select(columns).iter_rows()}


def test_with_hooks_alone_every_call_is_the_hooks_alone(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    found = gathered(tmp_path, recorded(shared("claude_code"), tmp_path, transcripts=False))
    coverage = _coverage(found.coverage)
    assert {session: coverage.pop(session) for session in CALLS} == {s: (0, n, 0) for s, n in CALLS.items()}
    assert sorted(session[:8] for session in coverage) == sorted(NO_TRANSCRIPT)
    assert set(coverage.values()) == {(0, 0, 0)}
    assert not found.coverage["transcript"].any()
    assert found.lines == 161 == found.events.height  # as the recordings have lines


def test_with_transcripts_every_recorded_call_is_in_both(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    found = gathered(tmp_path, recorded(shared("claude_code"), tmp_path))
    coverage = _coverage(found.coverage)
    assert {session: coverage[session] for session in CALLS} == {s: (n, 0, 0) for s, n in CALLS.items()}
    columns = ["ends_added", "prompts_added", "messages_added"]
    added = {row[0]: row[1:] for row in found.coverage.select("session_id", *columns).iter_rows()}
    assert {session: counts for session, counts in added.items() if any(counts)} == ADDED
    assert found.events.filter(source="transcript").height == 6
    assert found.quarantine.is_empty()
    assert found.lines == 543


def test_with_transcripts_alone_every_call_is_the_transcripts_alone(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    found = gathered(tmp_path, recorded(shared("claude_code"), tmp_path, hooks=False))
    assert _coverage(found.coverage) == {s: (0, 0, n) for s, n in CALLS.items()}
    assert found.lines == 382 == found.events.height + sum(found.passed.values())


def test_outcomes_are_the_same_from_hooks_and_from_transcripts(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    by_hooks = recorded(shared("claude_code"), tmp_path / "a", transcripts=False)
    by_transcripts = recorded(shared("claude_code"), tmp_path / "b", hooks=False)
    outcomes = []
    for slices, spool in ((by_hooks, tmp_path / "a"), (by_transcripts, tmp_path / "b")):
        steps = build_trajectories(gathered(spool, slices).events).filter(kind="tool_call")
        outcomes.append(dict(steps.select("tool_use_id", "outcome").iter_rows()))
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0]) == sum(CALLS.values())


def test_steps_of_calls_are_not_doubled_by_transcripts(shared: Callable[[str], Path], tmp_path: Path) -> None:
    steps = build_trajectories(gathered(tmp_path, recorded(shared("claude_code"), tmp_path)).events)
    calls = steps.filter(kind="tool_call")
    assert calls.height == sum(CALLS.values()) == calls["tool_use_id"].n_unique()
    prompts = steps.filter((pl.col("kind") == "prompt") & pl.col("agent_id").is_null())
    assert prompts["text"].n_unique() == prompts.height == 10  # nine sessions, one of them asked twice


def test_refused_and_denied_calls_come_from_the_transcript_where_no_hook_tells_them(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    slices = recorded(shared("claude_code"), tmp_path)
    kept = []
    for part in slices:  # as a client that knows neither the failure event nor the batch
        lines = (tmp_path / part.file).read_bytes().splitlines(keepends=True)
        old = [one for one in lines if b'"PostToolBatch"' not in one and b'"PostToolUseFailure"' not in one]
        kept.append(put(tmp_path, part.file, b"".join(old)))
    found = gathered(tmp_path, kept)
    assert _coverage(found.coverage)[MAIN] == (14, 0, 5)  # the five whose input was refused
    ends = dict(found.coverage.select("session_id", "ends_added").iter_rows())
    # Bash, Read and the subagent's Bash; the subagent's Bash; the failing tool; the denied call
    ends = {session: n for session, n in ends.items() if n}
    assert ends == {MAIN: 3, SKILLS: 1, MCP: 1, DENY: 1, HANG: 1}
    steps = build_trajectories(found.events).filter(kind="tool_call")
    reasons = dict(steps.group_by("outcome_reason").len().iter_rows())
    assert reasons["tool_response=<tool_use_error>"] == 5
    assert reasons["kind=PermissionDenied"] == 1
    assert reasons["kind=PostToolUseFailure"] == 5


def test_calls_without_ids_are_joined_by_content(tmp_path: Path) -> None:
    hooks = b"\n".join(
        record(n, tool_use_id=None, tool_input={"command": "ls", "timeout": 3}, tool_response={"stdout": ""})
        for n in range(2)
    )
    told = transcript(
        tmp_path,
        said(
            call("c1", timeout=3, command="ls"),
            call("c2", timeout=3, command="ls"),
            call("c3", command="pwd"),
        ),
        result("c1"),
        result("c2"),
        result("c3"),
    )
    found = gathered(tmp_path, [put(tmp_path, "hooks/s-1.jsonl", hooks + b"\n"), told])
    assert _coverage(found.coverage) == {SESSION: (2, 0, 1)}
    assert found.coverage["matched_by_content"].to_list() == [2]
    assert build_trajectories(found.events).filter(kind="tool_call").height == 3


def test_an_end_that_only_the_transcript_tells_joins_a_call_without_an_id(tmp_path: Path) -> None:
    start = record(0, hook_event_name="PreToolUse", tool_use_id=None, tool_input={"command": "ls"})
    told = transcript(
        tmp_path,
        said(call("c1", command="ls")),
        result("c1", "no", is_error=True, timestamp="2025-02-19T21:20:01Z"),
    )
    found = gathered(tmp_path, [put(tmp_path, "hooks/s-1.jsonl", start + b"\n"), told])
    steps = build_trajectories(found.events).filter(kind="tool_call")
    assert steps["outcome"].to_list() == ["failure"]
    assert found.coverage["ends_added"].to_list() == [1]


def test_events_of_the_older_layout_are_joined_by_content(tmp_path: Path) -> None:
    old = put(tmp_path, f"legacy/{SESSION}/events.jsonl", legacy(0, session_id=SESSION) + b"\n")
    found = gathered(tmp_path, [old, transcript(tmp_path, said(call("c1", command="ls")), result("c1"))])
    assert _coverage(found.coverage) == {SESSION: (1, 0, 0)}


def test_a_prompt_typed_twice_is_kept_twice_and_no_more(tmp_path: Path) -> None:
    typed = [
        record(n, hook_event_name="UserPromptSubmit", prompt="go", prompt_id=f"p{n}", tool_name=None)
        for n in range(2)
    ]
    hooks = put(tmp_path, "hooks/s-1.jsonl", b"\n".join(typed) + b"\n")
    told = [prompt("go", promptId=f"p{n}", uuid=f"u{n}") for n in range(3)]
    found = gathered(tmp_path, [hooks, transcript(tmp_path, *told)])
    assert found.coverage["prompts_added"].to_list() == [1]


def test_what_was_captured_stays_as_it_was(shared: Callable[[str], Path], tmp_path: Path) -> None:
    alone = gathered(tmp_path / "a", recorded(shared("claude_code"), tmp_path / "a", transcripts=False))
    both = gathered(tmp_path / "b", recorded(shared("claude_code"), tmp_path / "b"))
    captured = both.events.filter(pl.col("source") == "hook")
    assert captured.drop("layer").equals(alone.events.drop("layer"))


def test_reading_again_gives_the_same_bytes(shared: Callable[[str], Path], tmp_path: Path) -> None:
    slices = recorded(shared("claude_code"), tmp_path)
    first, second = gathered(tmp_path, slices), gathered(tmp_path, slices)
    assert first.events.equals(second.events)
    assert first.usage.equals(second.usage)
    assert first.coverage.equals(second.coverage)


def test_the_layer_is_told_by_skills_that_only_the_transcript_knows(tmp_path: Path) -> None:
    told = transcript(tmp_path, said(call("c1", "Skill", skill="rllm-train")), result("c1"))
    assert gathered(tmp_path, [told]).events["layer"].unique().to_list() == ["rllm"]


def test_a_transcript_that_comes_late_adds_what_it_would_have_added_in_time(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    slices = recorded(shared("claude_code"), tmp_path)
    hooks = [part for part in slices if part.file.startswith("hooks")]
    late = [part for part in slices if part not in hooks]
    whole, first = gathered(tmp_path, slices), gathered(tmp_path, hooks)
    then = gathered(tmp_path, late, earlier=hooks)
    columns = [name for name in whole.events.columns if name != "layer"]
    both = pl.concat([first.events, then.events]).select(columns)
    assert both.sort("event_id").equals(whole.events.select(columns).sort("event_id"))
    assert then.events["source"].unique().to_list() == ["transcript"]
    assert then.usage.equals(whole.usage) and first.usage.is_empty()
    assert first.lines + then.lines == whole.lines
    assert then.quarantine.is_empty() and then.passed == whole.passed
    told = whole.coverage.filter(session_id=MAIN), then.coverage.filter(session_id=MAIN)
    assert told[0].drop("corrects").equals(told[1].drop("corrects")) and told[1]["corrects"].all()


def test_of_a_transcript_that_grew_only_the_rest_is_told(tmp_path: Path) -> None:
    words = {"type": "text", "text": "Done."}
    hook = record(1, hook_event_name="PreToolUse", tool_use_id="t1", tool_input={"command": "ls"})
    captured = put(tmp_path, f"hooks/{SESSION}.jsonl", hook + b"\n")
    before = said(call("t1", command="ls"), words)
    earlier = [captured, transcript(tmp_path, before)]
    whole = transcript(tmp_path, before, result("t1"), said(words, message="m-2"), b"broken\n")
    data = (tmp_path / whole.file).read_bytes()[len(before) :]
    rest = FileSlice(whole.file, len(before), whole.end, sha256_bytes(data), (SESSION,))
    found = gathered(tmp_path, [rest], earlier=earlier)
    assert found.events.select("kind", "tool_name").rows() == [
        ("PostToolUse", "Bash"),  # the name is told by the part before
        ("MessageDisplay", None),  # the same words, said again
    ]
    assert found.usage["message_id"].to_list() == ["m-2"]
    assert (found.lines, found.quarantine.height) == (3, 1)


def test_sessions_that_only_a_file_of_before_holds_are_not_told_of(tmp_path: Path) -> None:
    mixed = [record(1), record(2, session_id="other")]
    earlier = put(tmp_path, "hooks/_fallback.jsonl", b"\n".join(mixed) + b"\n")
    found = gathered(tmp_path, [transcript(tmp_path, prompt("late"))], earlier=[earlier])
    assert found.coverage["session_id"].to_list() == [SESSION]
    assert found.events["session_id"].to_list() == [SESSION]
