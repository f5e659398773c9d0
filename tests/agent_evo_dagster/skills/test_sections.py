"""Base files are cut at their markers and printed again byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.skills.sections import parse_document, print_document

HEAD = "---\nname: a\n---\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_document_prints_as_it_was(end: str) -> None:
    text = f"{HEAD}free\n<!-- section:one -->  \ntext\n<!-- /section:one -->\n\nmore".replace("\n", end)
    document = parse_document(text, origin="x")
    assert print_document(document) == text
    assert [(section.name, section.text) for section in document.sections()] == [("one", f"text{end}")]


blocks = st.sampled_from(
    [
        "free\n",
        "\n",
        "```md\n<!-- section:one -->\n```\n",
        "~~~~\n```\n<!-- /section:two -->\n~~~~~\n",
        "text with ``` inside\n",
        "    <!-- not a marker\n",
        "<!-- a comment -->\n",
        "last\r\n",
    ]
)


@given(st.lists(blocks), st.lists(blocks), st.lists(blocks), st.booleans())
def test_any_document_round_trips(free: list[str], inner: list[str], rest: list[str], cut: bool) -> None:
    section = ["<!-- section:mine -->\n", *inner, "<!-- /section:mine -->\n"]
    text = HEAD + "".join([*free, *section, *rest])
    text = text[:-1] if cut else text
    document = parse_document(text, origin="x")
    assert print_document(document) == text
    assert [piece.text for piece in document.sections()] == ["".join(inner)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<!-- section:a -->\n", r"x\.md, line 4: section 'a' is never closed"),
        ("<!-- section:a -->\n```\n<!-- /section:a -->\n", "line 4: section 'a' is never closed"),
        ("\n<!-- section:a -->\n<!-- /section:a -->\n<!-- section:a -->\n", "line 7: .*already on line 5"),
        ("<!-- section:a -->\n<!-- section:b -->\n", "line 5: section 'b' opens within section 'a'"),
        ("<!-- /section:a -->\n", "line 4: section 'a' is closed outside any section"),
        ("<!-- section:a -->\n<!-- /section:b -->\n", "line 5: section 'b' is closed inside section 'a'"),
        ("<!-- section:Big -->\n", "line 4: not a section marker.*lower-case"),
        ("<!--section:a-->\n", "line 4: not a section marker"),
        ("<!-- section:a_b -->\n", "line 4: not a section marker"),
        ("  <!-- section:a -->\n", "line 4: not a section marker"),
    ],
)
def test_markers_that_are_not_well_formed_are_errors_with_their_line(body: str, message: str) -> None:
    with pytest.raises(SkillBankError, match=message):
        parse_document(HEAD + body, origin="x.md")


@pytest.mark.parametrize("text", ["", "# no head\n", "---\nname: a\n", "\ufeff---\nname: a\n---\n"])
def test_front_matter_is_required(text: str) -> None:
    with pytest.raises(SkillBankError, match="line 1: no front matter"):
        parse_document(text, origin="x.md")
