import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.analysis.signatures import (
    MAX_INPUT,
    MAX_SIGNATURE,
    error_signature,
    normal_input,
    parse_json,
)


@pytest.mark.parametrize(
    ("error", "signature"),
    [
        ("File does not exist. Note: cwd is /home/user/p.", "File does not exist. Note: cwd is <path>"),
        ("Exit code 3", "Exit code 3"),
        ("Exit code 127\nbash: foo: command not found\n", "Exit code 127 | bash: foo: command not found"),
        (
            "Exit code 1\nTraceback (most recent call last):\nValueError: got 17\nsee log",
            "Exit code 1 | ValueError: got <n>",
        ),
        ("fatal: bad object 3f2a9bc1d", "fatal: bad object <hash>"),
        ("run 0e3f507c-0369-4f13-a3a3-0a74b35e4428 took 12.5 s", "run <uuid> took <n> s"),
        ("GET https://example.com/x?y=1 refused", "GET <url> refused"),
        ("rate 1e-6 is below 2.0e-5", "rate <n> is below <n>"),
        (
            "InputValidationError: Bash failed due to the following issue:\nThe parameter `x` is missing",
            "InputValidationError: Bash failed due to the following issue: | The parameter `x` is missing",
        ),
        ("\x1b[31mred\x1b[0m", "red"),
        ("<tool_use_error>Unknown skill: x</tool_use_error>", "Unknown skill: x"),
        (None, "(no message)"),
        ("\n \x00", "(no message)"),
    ],
)
def test_an_error_keeps_its_kind_and_loses_its_particulars(error, signature):
    assert error_signature(error) == signature


@given(st.text(max_size=400))
def test_signatures_are_one_bounded_line(text):
    signature = error_signature(text)
    assert 0 < len(signature) <= MAX_SIGNATURE
    assert "\n" not in signature


def test_inputs_that_do_the_same_have_one_normal_form():
    one = '{"command": "ls   -l\\n", "description": "List", "timeout": 5}'
    assert normal_input(one) == normal_input('{"timeout": 9, "command": "ls -l"}') == "ls -l"


def test_inputs_that_differ_in_a_path_differ():
    assert normal_input('{"file_path": "/a"}') != normal_input('{"file_path": "/b"}')


@given(st.one_of(st.none(), st.text()))
def test_any_text_has_a_bounded_normal_input(text):
    assert len(normal_input(text)) <= MAX_INPUT


@pytest.mark.parametrize("text", [None, "", "{", "[" * 100_000])
def test_what_is_not_json_has_no_value(text):
    assert parse_json(text) is None


def test_not_a_number_has_no_value():
    assert parse_json('{"a": [NaN, -Infinity, 1.5]}') == {"a": [None, None, 1.5]}


def test_a_lone_surrogate_does_not_reach_the_frames():
    assert normal_input('{"command": "\\ud800 x"}') == "? x"
