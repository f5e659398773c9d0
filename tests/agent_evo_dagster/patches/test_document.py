"""Patch documents round-trip exactly and refuse what is hostile or was edited."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.document import (
    canonical_fields,
    parse_patch,
    patch_id,
    render_patch,
    section_hash,
)
from agent_evo_dagster.patches.fences import open_html
from agent_evo_dagster.patches.types import Action, Patch
from agent_evo_dagster.strict_yaml import load_mapping


def make(
    *,
    body: str = "Say more.\n",
    description: str = "say more",
    action: Action = "append",
    supersedes: tuple[str, ...] = (),
    findings: tuple[str, ...] = ("f-1",),
    created: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
) -> Patch:
    base = section_hash("old\n")
    return Patch(
        id=patch_id(skill="rllm-config", section="rollouts", action=action, base_hash=base, body=body),
        group="rllm",
        skill="rllm-config",
        target_section="rollouts",
        action=action,
        description=description,
        base_hash=base,
        source_round="round-0001",
        findings=findings,
        supersedes=supersedes,
        created=created,
        body=body,
    )


def test_a_patch_reads_back_as_it_was_written() -> None:
    patch = make(supersedes=("p-0123456789abcdef",))
    assert parse_patch(render_patch(patch), origin="x") == patch


def test_rendering_is_canonical() -> None:
    elsewhere = datetime(2026, 1, 2, 4, 4, 5, tzinfo=timezone(timedelta(hours=1)))
    assert render_patch(make(created=elsewhere)) == render_patch(make())


@pytest.mark.parametrize(
    "description",
    [
        "a: b",
        "- item",
        "yes",
        "2026-01-01",
        "null",
        '"quoted"',
        "it's",
        "#no comment",
        "two\nlines",
        "tab\t",
        "[x]",
    ],
)
def test_descriptions_that_would_mean_something_in_yaml_stay_text(description: str) -> None:
    assert parse_patch(render_patch(make(description=description)), origin="x").description == description


visible_text = st.text(
    alphabet=st.one_of(
        st.characters(min_codepoint=32, max_codepoint=126),
        st.characters(min_codepoint=0xA1, max_codepoint=0x24F, exclude_characters="\xad"),
        st.sampled_from("\n\t学習🙂"),
    ),
    max_size=200,
)


@given(
    visible_text.filter(lambda text: text.strip() != "" and "```" not in text and "~~~" not in text),
    visible_text,
    st.lists(visible_text, max_size=3),
    st.datetimes(timezones=st.just(UTC)),
)
def test_any_visible_content_round_trips(
    body: str, description: str, findings: list[str], at: datetime
) -> None:
    patch = make(body=body, description=description, findings=tuple(findings), created=at)
    assert parse_patch(render_patch(patch), origin="x") == patch


@given(visible_text, st.lists(visible_text, max_size=2), st.none() | visible_text)
def test_the_fast_reader_reads_what_yaml_reads(description: str, names: list[str], key: str | None) -> None:
    patch = make(description=description, findings=tuple(names)).model_copy(update={"source_round": key})
    text = render_patch(patch).split("---\n")[1]
    fast = canonical_fields(text)
    assert fast is not None
    assert fast == load_mapping(text, origin="x", error=PatchError)


@given(st.data())
def test_the_fast_reader_agrees_with_yaml_or_leaves_it_to_it(data: st.DataObject) -> None:
    text = render_patch(make(description='a \\"quoted\\" \n word')).split("---\n")[1]
    at = data.draw(st.integers(0, len(text) - 1))
    piece = data.draw(
        st.sampled_from(
            ["", " ", '"', "\\", "\n", "\\/", "\\x41", "\\ud83d", "\u2028", "\x85", "yes", "#", "'"]
        )
    )
    changed = text[:at] + piece + text[at + data.draw(st.integers(0, 2)) :]
    fast = canonical_fields(changed)
    if fast is not None:
        assert fast == load_mapping(changed, origin="x", error=PatchError)


def test_an_edited_body_is_another_patch() -> None:
    with pytest.raises(PatchError, match=r"x\.md: the id is .* edited since"):
        parse_patch(render_patch(make()).replace("Say more.", "Say less."), origin="x.md")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("---\n", "", "no front matter"),
        ("depends_on: []", "depends_on: p-0123456789abcdef", "`depends_on`"),
        ("conflicts_with: []", "conflicts_with: text", "`conflicts_with`"),
        ("conflicts_with: []", "conflicts_with: [../../etc]", "cannot be another patch's id"),
        ("status: proposed", "status: accepted", "`status`"),
        ("status: proposed", "status: active\nstatus: proposed", "line 16: .*given twice"),
        ("status: proposed", "status: active\nextra: 1", "`extra`"),
        ("action: append", "action: delete", "`action`"),
        ('skill: "rllm-config"', 'skill: "../rllm"', "lower-case"),
        ('description: "say more"', "description: say: more", "line 7: not valid YAML"),
        ('description: "say more"', "description: &a say\nx: *a", "aliases|not valid"),
        ("T03:04:05Z", "T03:04:05", "time zone"),
        ("source:", "source: manual\nother:", "`source`"),
        ("Say more.", " ", "body is empty"),
        ("Say more.", "<!-- section:new -->", "body line 1: a section marker"),
        ("Say more.", "<!-- /Section: new-->", "body line 1: a section marker"),
        ("Say more.", "```sh\nls", "body line 1: .*never closed"),
        ("Say more.", "More.\n\n<!-- later", "body line 3: .*HTML is never closed"),
        ("Say more.", "Say \u200bmore.", r"line 18, column 5: U\+200B .ZERO WIDTH SPACE"),
        ("Say more.", "Say \u202emore.", r"U\+202E"),
        ("Say more.", "Say \U000e0041more.", r"U\+E0041"),
    ],
)
def test_what_is_not_well_formed_is_refused(old: str, new: str, message: str) -> None:
    text = render_patch(make())
    assert old in text
    with pytest.raises(PatchError, match=message):
        parse_patch(text.replace(old, new, 1), origin="x.md")


def test_a_marker_in_a_code_fence_is_text() -> None:
    patch = make(body="```md\n<!-- section:example -->\n```\n")
    assert parse_patch(render_patch(patch), origin="x") == patch


@pytest.mark.parametrize("bomb", ["a: " + "[" * 20_000, "- " * 20_000, "a: " + "[a," * 20_000, "? " * 9_000])
def test_deep_nesting_is_refused_and_not_followed(bomb: str) -> None:
    with pytest.raises(PatchError, match="YAML"):
        parse_patch(f"---\n{bomb}\n---\nbody\n", origin="x.md")


def test_a_patch_is_small() -> None:
    with pytest.raises(PatchError, match="larger than"):
        parse_patch(render_patch(make(body="x" * 70_000)), origin="x.md")


def test_a_naive_time_is_not_written() -> None:
    with pytest.raises(PatchError, match="time zone"):
        render_patch(make(created=datetime(2026, 1, 1)))


_PIECES = [
    "<!--",
    "-->",
    "<pre>",
    "x</PRE>",  # at the beginning of a line, parsers are not of one mind about it
    "<?",
    "?>",
    "<![CDATA[",
    "]]>",
    "<!x",
    ">",
    "```",
    "~~~",
    "a",
    " ",
]


@given(st.lists(st.lists(st.sampled_from(_PIECES), max_size=3).map("".join), max_size=7))
def test_what_follows_a_body_is_shown_unless_the_body_leaves_something_open(lines: list[str]) -> None:
    body = "".join(f"{line}\n" for line in lines)
    shown = [token.content for token in MarkdownIt().parse(f"{body}\nafter\n") if token.type == "inline"]
    assert (open_html(body) is None) == (shown[-1:] == ["after"])
