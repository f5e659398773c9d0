"""Names of spool files, and layers of sessions."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.capture.layers import layer_of
from agent_evo_dagster.capture.names import safe_name
from agent_evo_dagster.capture.types import Layer


def hook_safe_name(session_id: object) -> str:
    path = Path(__file__).parents[3] / "hooks" / "capture.py"
    spec = importlib.util.spec_from_file_location("capture_hook", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    name: str = module.safe_name(session_id)
    return name


@given(
    st.text(max_size=130) | st.integers() | st.none() | st.lists(st.integers(), max_size=3) | st.booleans()
)
def test_the_hook_and_the_library_name_files_alike_and_safely(session_id: object) -> None:
    name = safe_name(session_id)
    assert name == hook_safe_name(session_id)
    assert "/" not in name and "\0" not in name and not name.startswith(".") and 0 < len(name) <= 120
    assert name.isascii()


@pytest.mark.parametrize("session_id", ["68347ea1-aa01-447a-91db-7c265dda2fb2", "a", "A.b_c-9"])
def test_usual_ids_are_their_own_names(session_id: str) -> None:
    assert safe_name(session_id) == session_id


def test_different_odd_ids_have_different_names() -> None:
    odd: list[object] = ["../x", "/x", "", "7 ", 7, "é", "x" * 300, "x" * 301, ["7"], "_fallback", "a\n"]
    assert len({safe_name(session_id) for session_id in odd}) == len(odd)


@pytest.mark.parametrize(
    ("skills", "layer"),
    [
        ([], Layer.UNKNOWN),
        (["demo-skill", "commit"], Layer.UNKNOWN),
        (["rllm-config"], Layer.RLLM),
        (["demo", "traj-optimize"], Layer.TRAJ),
        (["meta-review"], Layer.META),
        (["plugin:rllm-run"], Layer.RLLM),
        (["rllm-run", "traj-segment", "rllm-monitor"], Layer.RLLM),
        (["traj-loop", "rllm-run"], Layer.TRAJ),
        (["myrllm-run"], Layer.UNKNOWN),
    ],
)
def test_most_of_the_skills_tell_the_layer(skills: list[str], layer: Layer) -> None:
    assert layer_of(skills) is layer
