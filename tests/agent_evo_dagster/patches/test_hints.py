"""Hints move settings by readable steps, within their bounds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.analysis.types import SettingHint
from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.patches.hints import moved, read_hint
from agent_evo_dagster.patches.settings_block import SettingSpec


def spec(default, low, high):
    return SettingSpec("s", default, low, high, "why")


@pytest.mark.parametrize(
    ("setting", "direction", "factor", "value"),
    [
        (spec(2e-5, 1e-6, 2e-3), "raise", 5, 1e-4),
        (spec(2e-5, 1e-6, 2e-3), "raise", 3, 6e-5),
        (spec(2e-5, 1e-6, 2e-3), "raise", 1000, 2e-3),
        (spec(3e-4, 1e-6, 2e-3), "lower", 7, 4.3e-5),
        (spec(10, 2, 200), "raise", 1.5, 15),
        (spec(96, 32, 1024), "raise", 1.5, 140),
        (spec(3, 1, 8), "raise", 1.1, 4),
        (spec(3, 1, 8), "lower", 1.1, 2),
        (spec(8, 8, 64), "lower", 2, 8),
        (spec(0.0, 0, 0.2), "raise", 2, 0.01),
        (spec(0.0, 0, 0.2), "lower", 2, 0.0),
        (spec(102, 2, 200), "raise", 1.01, 102),
        (spec(1.0, 0.3, 1.5), "raise", 1.01, 1.0),
    ],
)
def test_values_are_readable_and_bounded(setting, direction, factor, value):
    found = moved(setting, SettingHint("s", direction, factor, "why"))
    assert found == value
    assert type(found) is type(value)


@given(
    st.floats(1e-6, 1e6),
    st.floats(1, 1e4),
    st.floats(1, 1e4),
    st.sampled_from(["raise", "lower"]),
    st.floats(1.001, 100),
)
def test_a_value_never_leaves_its_bounds_nor_goes_the_other_way(low, up, further, direction, factor):
    setting = spec(low * up, low, low * up * further)
    found = moved(setting, SettingHint("s", direction, factor, "why"))
    assert setting.min <= found <= setting.max
    assert found >= setting.default if direction == "raise" else found <= setting.default


def test_hint_is_read():
    text = json.dumps({"setting": "beta", "direction": "lower", "factor": 2, "why": "kl"})
    assert read_hint(text, origin="f") == SettingHint("beta", "lower", 2.0, "kl")


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        "{}",
        '{"setting": "a", "direction": "raise", "factor": null, "why": ""}',
        '{"setting": "a", "direction": "sideways", "factor": 2, "why": ""}',
        '{"setting": "a", "direction": "raise", "factor": 1.0, "why": ""}',
        '{"setting": "a", "direction": "raise", "factor": NaN, "why": ""}',
        '{"setting": "a", "direction": "raise", "factor": Infinity, "why": ""}',
    ],
)
def test_what_is_no_hint_is_refused_with_the_finding(text):
    with pytest.raises(PatchError, match="finding f-1"):
        read_hint(text, origin="finding f-1")
