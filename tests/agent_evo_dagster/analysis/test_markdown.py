import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent_evo_dagster.analysis.display import one_line, visible
from agent_evo_dagster.analysis.markdown import code, fenced, plain

READER = MarkdownIt("gfm-like", {"linkify": False})
marks = st.text(alphabet="<>&\"'`|*_[]()!#+-=~$:/.\\ 1a\nwh\t", max_size=25)


def inline_types(source):
    (inline,) = [token for token in READER.parse(source) if token.type == "inline"]
    return {child.type for child in inline.children or []}


@given(st.one_of(marks, st.text(max_size=25)))
def test_plain_text_stays_text(text):
    source = f"x {plain(text)} x"
    assert inline_types(source) <= {"text", "text_special"}


@given(marks)
def test_plain_text_begins_no_block(text):
    kinds = [token.type for token in READER.parse(plain(text))]
    assert kinds in ([], ["paragraph_open", "inline", "paragraph_close"])


@given(marks)
def test_a_table_keeps_its_cells(text):
    source = f"| a | b |\n| --- | --- |\n| {plain(text)} | y |"
    kinds = [token.type for token in READER.parse(source)]
    assert kinds.count("td_open") == 2


@given(marks)
def test_a_code_span_keeps_its_content_in(text):
    assert inline_types(f"x {code(text)} x") == {"text", "code_inline"}


@given(st.one_of(marks, st.text(max_size=40)))
def test_a_fence_keeps_its_content_in(text):
    (token,) = READER.parse(fenced(text, "diff"))
    assert token.type == "fence"


def test_identifiers_stay_readable():
    assert plain("round-0001 learning_rate 2e-5 (+0.10)") == "round-0001 learning_rate 2e-5 (+0.10)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\u202eb", "a[U+202E]b"), ("\u200b", "[U+200B]"), ("é 中\n", "é 中\n"), ("\x1b[31m", "[U+001B][31m")],
)
def test_hidden_characters_are_shown(text, shown):
    assert visible(text) == shown


def test_one_line_has_no_breaks():
    assert one_line(" a\n\t b ") == "a b"
