"""Compiled front matter: one quoted description line that strict readers take, and nothing else changed."""

import re

import pytest
import yaml

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.skills.agent_skill import compiled_head

HEAD = "---\n# first\nname: alpha\n{}\nversion: 1.10\nenabled: no\n---\n"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("description: Use it: always", "Use it: always"),
        ("description: yes", "yes"),
        ("description: 2026-01-01", "2026-01-01"),
        ("description: - item", "- item"),
        ('description: say "hi" \\ there', 'say "hi" \\ there'),
        ("description: >-\n  Two lines\n  folded: here", "Two lines folded: here"),
        ("description: |\n  Two lines\n  kept\n", "Two lines kept"),
        ("description: plain text\n  that goes on", "plain text that goes on"),
        ('description: "quoted\n  over lines"', "quoted over lines"),
        ("description: 训练: 智能体", "训练: 智能体"),
    ],
)
def test_any_form_of_description_becomes_one_quoted_line(written: str, meant: str) -> None:
    head = compiled_head(HEAD.format(written), name="alpha", origin="x")
    fields = yaml.safe_load(head.replace("---", ""))
    assert fields["description"] == meant
    assert len(re.findall(r'^description: "[^\n]*"$', head, re.MULTILINE)) == 1
    assert head.startswith("---\n# first\nname: alpha\ndescription: ")
    assert head.rstrip("\n").endswith("version: 1.10\nenabled: no\n---")


@pytest.mark.parametrize(
    "line", ['description: "one: line"  # why', "description: 'it''s'", 'description:   "x"']
)
def test_a_quoted_line_stays_byte_for_byte(line: str) -> None:
    assert compiled_head(HEAD.format(line), name="alpha", origin="x") == HEAD.format(line)


def test_comments_and_windows_line_ends_stay() -> None:
    head = HEAD.format("description: plain  # why").replace("\n", "\r\n")
    wanted = head.replace("plain", '"plain"')
    assert compiled_head(head, name="alpha", origin="x") == wanted


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (HEAD.format("other: 1"), "`description` is missing"),
        (HEAD.format('description: ""'), "`description` is missing"),
        (HEAD.format("description: [a]"), "on one line"),
        (HEAD.format("description:"), "on one line|missing"),
        (HEAD.format(f'description: "{"x" * 1025}"'), "1025 characters"),
        (HEAD.format('description: "x"\ndescription: "y"'), "line 5: .*given twice"),
        (HEAD.format('description: "x"\nbroken: [1'), r"x\.md, line \d: not valid YAML"),
        (HEAD.format('description: "x"').replace("name: alpha", "name: beta"), "folder's name, 'alpha'"),
    ],
)
def test_front_matter_that_agents_would_not_load_is_refused(head: str, message: str) -> None:
    with pytest.raises(SkillBankError, match=message):
        compiled_head(head, name="alpha", origin="x.md")
