"""Settings blocks are read strictly, and one default changes without touching another byte."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.settings_block import SettingSpec, format_number, read_settings, with_default

SECTION = """## Optimisation

Prose that mentions `default: 3`.

```yaml
# agent-evo:settings
# the step size comes first
learning_rate: {default: 2.0e-5, min: 1.0e-6, max: 2.0e-3, why: "small: default: 9 is not a value"}

max_steps: {min: 2, max: 200, why: 'ten, "for now"', default: 10}  # a comment
```

```yaml
learning_rate: 7
```
"""


def test_settings_are_read_in_their_order_with_their_kinds() -> None:
    assert read_settings(SECTION, origin="x") == [
        SettingSpec("learning_rate", 2e-5, 1e-6, 2e-3, "small: default: 9 is not a value"),
        SettingSpec("max_steps", 10, 2, 200, 'ten, "for now"'),
    ]
    assert isinstance(read_settings(SECTION, origin="x")[1].default, int)


def test_a_section_without_a_block_has_no_settings() -> None:
    assert read_settings("# agent-evo:settings in prose\n\n```yaml\na: 1\n```\n", origin="x") == []


def test_exponents_without_a_dot_are_numbers() -> None:
    text = SECTION.replace("2.0e-5", "2e-5")
    assert read_settings(text, origin="x")[0].default == 2e-5


def test_only_the_default_changes() -> None:
    changed = with_default(SECTION, "learning_rate", 1e-4)
    assert changed == SECTION.replace("default: 2.0e-5", "default: 0.0001")
    assert with_default(SECTION, "max_steps", 20) == SECTION.replace("default: 10", "default: 20")
    windows = SECTION.replace("\n", "\r\n")
    assert with_default(windows, "max_steps", 20.0) == windows.replace("default: 10", "default: 20")


def test_setting_the_same_default_gives_the_same_bytes() -> None:
    assert with_default(SECTION, "learning_rate", 2e-5) == SECTION


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("learning_rate", 1.0, "outside"),
        ("learning_rate", float("nan"), "finite"),
        ("max_steps", 2.5, "whole number"),
        ("max_steps", True, "finite"),
        ("momentum", 1, "not in this section"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(name: str, value: float, message: str) -> None:
    with pytest.raises(PatchError, match=message):
        with_default(SECTION, name, value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("default: 2.0e-5", "default: 5.0", "line 8.*outside"),
        ("default: 2.0e-5", 'default: "2.0e-5"', "line 8.*expected a number"),
        ("default: 2.0e-5", "default: .nan", "expected a number"),
        ("default: 2.0e-5, ", "", "needs exactly"),
        ("default: 2.0e-5, ", "default: 1, default: 2.0e-5, ", "needs exactly"),
        ("max_steps", "learning_rate", "given twice"),
        ("max_steps", "Max-Steps", "not a setting"),
        ("learning_rate: {default: 2.0e-5", "learning_rate: {default: [2.0e-5", "line 8"),
        ("'ten, \"for now\"'", "''", "in words"),
        ("```yaml\n# agent", "```text\n# agent", "fenced as `yaml`"),
    ],
)
def test_a_block_that_is_not_well_formed_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert old in SECTION
    with pytest.raises(PatchError, match=message):
        read_settings(SECTION.replace(old, new), origin="base.md")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_exactly_in_yaml(value: float) -> None:
    written = format_number(value)
    assert yaml.safe_load(written) == value
    assert isinstance(yaml.safe_load(written), float)


@given(
    st.floats(min_value=1e-6, max_value=2e-3),
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r")),
    st.text(),
)
def test_any_edit_changes_one_value_only(value: float, before: str, after: str) -> None:
    section = f"{before}x\n{SECTION}\n{after}" if not before.lstrip().startswith(("`", "~")) else SECTION
    changed = with_default(section, "learning_rate", value)
    assert changed.replace(f"default: {format_number(value)},", "default: 2.0e-5,", 1) == section
    old, new = (
        read_settings(SECTION, origin="x"),
        read_settings(changed[changed.index("## Optim") :], origin="x"),
    )
    assert new[0].default == value
    assert new[1] == old[1]
