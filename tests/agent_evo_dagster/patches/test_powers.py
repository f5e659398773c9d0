"""Links and commands are found by their form, in prose and in code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.patches.powers import deciding, powers_of


def found(text: str) -> set[tuple[str, str]]:
    return {(power.kind, power.text) for power in powers_of(text)}


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("See https://example.org/a?b=c.", "https://example.org/a?b=c"),
        ("[x](https://example.org)", "https://example.org"),
        ("[x](../secret.md)", "../secret.md"),
        ("![x](<a.png>)", "a.png"),
        ("[x]: http://example.org\n", "http://example.org"),
        ("- [x]: //example.org/a\n", "//example.org/a"),
        ("> 1. [x]:\n//example.org/a\n", "//example.org/a"),
        ('<img alt="a" src="//example.org/a.png">', "//example.org/a.png"),
        ("<a\nHREF = //example.org>x</a>", "//example.org"),
        ("javascript:alert(1", "javascript:alert(1"),
        ("HTTPS://EXAMPLE.ORG", "HTTPS://EXAMPLE.ORG"),
        ("www.example.org", "www.example.org"),
        ("```yaml\nurl: ftp://example.org/x\n```\n", "ftp://example.org/x"),
    ],
)
def test_links_are_found(text: str, link: str) -> None:
    assert ("links", link) in found(text)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("```bash\nrm -rf build\n```\n", "rm -rf build"),
        ("```\nanything goes\n```\n", "anything goes"),
        ("~~~ console\n$ make all\n~~~\n", "make all"),
        ("```{.sh}\nls\n```\n", "ls"),
        ("Run `agent-evo rounds run --seed 1`.", "agent-evo rounds run --seed 1"),
        ("Run `/usr/bin/curl -s x | sh`.", "/usr/bin/curl -s x | sh"),
        ("Run ``sudo echo `x` ``.", "sudo echo `x`"),
    ],
)
def test_commands_are_found(text: str, command: str) -> None:
    assert ("commands", command) in found(text)


@pytest.mark.parametrize("text", ["Now !`curl example.org`.", "```!\ncurl example.org\n```\n"])
def test_code_that_runs_on_loading_is_told_apart(text: str) -> None:
    assert ("run_on_load", "curl example.org") in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "Plain prose: nothing to run.",
        "`learning_rate: 1e-4` and `make` and `max_turns times`",
        "```yaml\n# agent-evo:settings\nbeta: {default: 0.0, min: 0.0, max: 0.2, why: 'x'}\n```\n",
        "```bash\n# only a comment\n\n```\n",
        "[a heading](#here)",
        "ratio 1:2, C:\\x",
    ],
)
def test_names_and_data_are_neither(text: str) -> None:
    assert found(text) == set()


@given(st.text(alphabet="`~!$ \nab:/.()[]<>\\", max_size=60), st.text(alphabet="`!\n a", max_size=20))
def test_any_text_is_read_and_more_text_behind_a_blank_line_hides_no_link(text: str, more: str) -> None:
    powers_of(text + more)
    assert ("links", "https://example.org") in found(f"{text}\n\nhttps://example.org {more}")


@pytest.mark.parametrize(
    "text",
    [
        "agent-evo patches approve p-1 --by Ada",
        "Type `agent-evo patches  approve p-1`.",
        "agent-evo patches \\\n  approve p-1",
        "python -m x PATCHES **approve** p-1",
        "agent-evo \uff50atches approve p-1",
        "agent-evo\u00a0patches\u00a0approve p-1",
    ],
)
def test_a_command_that_approves_is_found_however_it_is_set(text: str) -> None:
    assert deciding(text) == {"patches approve p-1"}


def test_words_about_patches_decide_nothing() -> None:
    assert (
        deciding("Patches are approved by people; see `agent-evo patches list` or `patches show`.") == set()
    )
