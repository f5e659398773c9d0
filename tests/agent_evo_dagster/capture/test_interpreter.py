"""The interpreter that the hook's command names is a binary, not a script that looks for one."""

import sys
from pathlib import Path

import pytest

from agent_evo_dagster.capture.interpreter import real_interpreter
from agent_evo_dagster.errors import CaptureError

REAL = Path(sys.executable).resolve()


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_shim_a_link_and_a_virtual_environment_lead_to_the_binary(tmp_path: Path) -> None:
    link = tmp_path / "python"
    link.symlink_to(REAL)
    shim = script(tmp_path / "a shim", f'exec "{REAL}" "$@"')
    assert [real_interpreter(path) for path in (shim, link, Path(sys.executable))] == [REAL] * 3


@pytest.mark.parametrize("body", ["exit 1", "echo hello", "printf 'x\\ny z\\n'"])
def test_what_is_no_python_is_refused_with_the_option_that_names_another(tmp_path: Path, body: str) -> None:
    with pytest.raises(CaptureError, match="--python PATH"):
        real_interpreter(script(tmp_path / "python", body))
    with pytest.raises(CaptureError, match="--python PATH"):
        real_interpreter(tmp_path / "nowhere")


def test_a_python_that_is_too_old_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"Python 2\.7"):
        real_interpreter(script(tmp_path / "python", "printf '/usr/bin/python2\\n2 7\\n'"))
