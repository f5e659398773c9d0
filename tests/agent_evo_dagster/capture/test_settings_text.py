"""Edits of a settings file's text: our hook in and out, and every other byte where it was."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.capture.claude_settings import KINDS, wanted_group
from agent_evo_dagster.capture.settings_text import with_hook, without_hook

COMMAND = "[ -x /p ] && exec /p -I -S '/home/it'\\''s/.claude/hooks/agent_evo/capture.py'"
LAYOUTS: dict[str, Callable[[Any], str]] = {
    "two spaces": lambda value: json.dumps(value, indent=2) + "\n",
    "tabs": lambda value: json.dumps(value, indent="\t", ensure_ascii=False),
    "one line": json.dumps,
    "no spaces": lambda value: json.dumps(value, separators=(",", ":")) + "\n\n",
    "other line breaks": lambda value: (json.dumps(value, indent=4) + "\n").replace("\n", "\r\n"),
    "spaces everywhere": lambda value: "\n " + json.dumps(value, indent=1, separators=(" , ", " :\t")) + " ",
}
FOREIGN = {"type": "command", "command": 'say "}]"'}
groups: st.SearchStrategy[list[Any]] = st.lists(
    st.one_of(
        st.just({"hooks": [FOREIGN]}),
        st.just({"matcher": "Bash|{[", "hooks": [FOREIGN, FOREIGN]}),
        st.just({"hooks": []}),
        st.integers(),
    ),
    max_size=3,
)
hooks = st.dictionaries(st.one_of(st.sampled_from(KINDS), st.sampled_from(["Notification", "é"])), groups)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
documents = st.builds(
    lambda rest, own, first: (
        {"hooks": own, **rest} if first else {**rest, "hooks": own} if own is not None else rest
    ),
    st.dictionaries(st.text(max_size=6).filter(lambda name: name != "hooks"), values, max_size=4),
    st.none() | hooks,
    st.booleans(),
).filter(lambda made: made.get("hooks", {}) is not None)


def expected(before: dict[str, Any]) -> dict[str, Any]:
    held = before.get("hooks", {})
    added = {kind: [*held.get(kind, []), wanted_group(COMMAND)] for kind in KINDS}
    return {**before, "hooks": {**held, **added}}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@settings(max_examples=25, deadline=None)
@given(before=documents)
def test_in_and_out_leaves_the_same_text(layout: Callable[[Any], str], before: dict[str, Any]) -> None:
    text = layout(before)
    put_in = with_hook(text, COMMAND)
    assert json.loads(put_in) == expected(before)
    assert with_hook(put_in, COMMAND) == put_in
    keep = ["hooks", *before["hooks"]] if "hooks" in before else []
    taken_out = without_hook(put_in, keep=keep)
    assert json.loads(taken_out) == before
    if before and all(before.get("hooks", {"": [1]}).values()) and before.get("hooks", True):
        assert taken_out == text  # inside of what is empty, spaces mean nothing to anyone


@settings(max_examples=25, deadline=None)
@given(before=documents)
def test_another_command_takes_the_place_of_ours(before: dict[str, Any]) -> None:
    text = LAYOUTS["two spaces"](before)
    assert with_hook(with_hook(text, COMMAND + " --spool /x"), COMMAND) == with_hook(text, COMMAND)


def test_lists_on_one_line_and_odd_layouts_of_others_stay_as_they_are() -> None:
    text = '{\n  "permissions": {"allow": ["Read", "Bash(ls:*)"]},\n\n  "model":"opus"\n}\n'
    put_in = with_hook(text, COMMAND)
    assert put_in.startswith(text.removesuffix("\n}\n") + ',\n  "hooks": {\n    "SessionStart": [\n      {\n')
    assert put_in.endswith("\n    ]\n  }\n}\n")
    assert without_hook(put_in) == text


def test_what_others_wrote_around_ours_in_the_meantime_stays_to_the_byte() -> None:
    stop = '"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]'
    text = f'{{\n  "a": [1, 2],\n  "hooks": {{\n    {stop}\n  }}\n}}'
    put_in = with_hook(text, COMMAND)
    later = put_in.replace('"a": [1, 2]', '"a": [1,   2, 3],\n  "b": {}')
    assert without_hook(later) == text.replace('"a": [1, 2]', '"a": [1,   2, 3],\n  "b": {}')


def test_an_entry_that_others_put_into_our_group_stays() -> None:
    put_in = with_hook('{"model": "opus"}', COMMAND)
    both = json.loads(put_in)
    both["hooks"]["Stop"][0]["hooks"].append(FOREIGN)
    rest = json.loads(without_hook(json.dumps(both)))
    assert rest == {"model": "opus", "hooks": {"Stop": [{"hooks": [FOREIGN]}]}}
