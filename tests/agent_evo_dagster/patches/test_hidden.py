"""Hidden characters are found with their place and shown as code points; visible text passes."""

import pytest

from agent_evo_dagster.patches.hidden import first_hidden, visible

HIDDEN = (
    "00 08 1B 7F 85 AD 34F 115F 200B 200D 202E 2028 2060 2066 2800 3164 E000 FE00 FEFF FFA0 FFFE "
    "E0001 E0041 E0100 F0000 10FFFF D800"
)


@pytest.mark.parametrize(
    "text", ["plain\ttext\n", "训练，智能体。", "naïve café", "⚠️ ✅ 🙂", "a\r\nb\r\n", "x² ≥ ½ → ∞"]
)
def test_visible_text_passes(text: str) -> None:
    assert first_hidden(text) is None
    assert visible(text) == text


@pytest.mark.parametrize(
    "code",
    [int(code, 16) for code in HIDDEN.split()],
)
def test_hidden_characters_are_found(code: int) -> None:
    found = first_hidden(f"ab\nc{chr(code)}d")
    assert found is not None
    assert found.startswith(f"line 2, column 2: U+{code:04X}")
    assert visible(f"c{chr(code)}d") == f"c<U+{code:04X}>d"


def test_a_lone_carriage_return_and_a_row_of_selectors_are_hidden() -> None:
    assert first_hidden("safe\rhidden") is not None
    assert first_hidden("⚠\ufe0f\ufe0e") is not None
    assert first_hidden("\ufe0f") is not None
