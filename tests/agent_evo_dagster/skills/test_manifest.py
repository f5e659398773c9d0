"""Manifests are read strictly, and ids are added without touching anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.skills.manifest import parse_bank_file, parse_manifest, with_active, with_lists

A, B = "p-00000000000000aa", "p-00000000000000bb"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"active:\n- {A}\n- {B}\n"),
        ("# c\nbase: base.md", f"# c\nbase: base.md\nactive:\n- {A}\n- {B}\n"),
        ("active: []  # c\nbase: base.md\n", f"active:\n  - {A}\n  - {B}  # c\nbase: base.md\n"),
        ("active:\nbase: base.md\n", None),
        ("active: [x]\n", f"active: [x, {A}, {B}]\n"),
        ("active:\n  - x  # why\n\n# c\n", f"active:\n  - x  # why\n  - {A}\n  - {B}\n\n# c\n"),
        ("active:\n- x", f"active:\n- x\n- {A}\n- {B}\n"),
        ("active:\r\n- x\r\n", f"active:\r\n- x\r\n- {A}\r\n- {B}\r\n"),
    ],
)
def test_ids_are_added_in_place(before: str, after: str | None) -> None:
    if after is None:
        with pytest.raises(SkillBankError, match="active"):
            with_active(before, (A, B), origin="m.yaml")
        return
    assert with_active(before, (A, B), origin="m.yaml") == after


@given(st.lists(st.sampled_from(["a1", "b2", "c3", "d4"]), unique=True), st.booleans(), st.booleans())
def test_adding_gives_the_list_that_was_meant(held: list[str], flow: bool, comment: bool) -> None:
    note = "  # c" if comment else ""
    lines = "".join(f"\n  - {name}{note}" for name in held)
    listed = f" [{', '.join(held)}]{note}" if flow or not held else lines
    text = f"disabled: [z9]\nactive:{listed}\nprotected: [one]\n"
    changed = parse_manifest(with_active(text, (A,), origin="m"), origin="m")
    assert changed.active == (*held, A)
    assert (changed.disabled, changed.protected) == (("z9",), ("one",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("active: text\n", r"m\.yaml: `active`"),
        ("active: [a, a]\n", "more than once"),
        ("aktive: []\n", "`aktive`"),
        ("active: []\nactive: []\n", "line 2: .*given twice"),
        ("active: &x []\ndisabled: *x\n", "aliases are not allowed"),
        ("- a\n", "expected a mapping"),
        ("base: ../../other.md\n", "`base`"),
    ],
)
def test_a_manifest_that_is_not_well_formed_is_refused(text: str, message: str) -> None:
    with pytest.raises(SkillBankError, match=message):
        parse_manifest(text, origin="m.yaml")


def test_a_bank_file_says_which_field_is_wrong() -> None:
    with pytest.raises(SkillBankError, match=r"bank\.yaml: `groups\.g\.skills\.s\.output`"):
        parse_bank_file('version: "1.0"\ngroups: {g: {skills: {s: {}}}}\n', origin="bank.yaml")


@given(
    st.lists(st.sampled_from(["a1", "b2", "c3", "d4"]), unique=True),
    st.lists(st.sampled_from(["a1", "b2", "c3", "d4", "e5"]), unique=True),
    st.booleans(),
)
def test_any_list_becomes_any_other_and_the_rest_stays(
    held: list[str], wanted: list[str], flow: bool
) -> None:
    lines = "".join(f"\n  - {name}  # {name}" for name in held)
    listed = f" [{', '.join(held)}]" if flow or not held else lines
    text = f"# head\ndisabled: [z9]\nactive:{listed}\n# tail\nprotected: [one]\n"
    changed = with_lists(text, {"active": tuple(wanted), "disabled": ()}, origin="m")
    found = parse_manifest(changed, origin="m")
    assert (found.active, found.disabled, found.protected) == (tuple(wanted), (), ("one",))
    assert changed.startswith("# head\ndisabled: []\nactive:")
    assert changed.endswith("\n# tail\nprotected: [one]\n")


def test_a_removed_id_takes_its_line_along_and_no_other() -> None:
    text = f"active:\r\n- {A}  # first\r\n# between\r\n- {B}  # second\r\n"
    assert with_lists(text, {"active": (B,)}, origin="m") == f"active:\r\n# between\r\n- {B}  # second\r\n"
