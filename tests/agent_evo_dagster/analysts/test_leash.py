"""What the leash sees of processes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_evo_dagster.analysts.leash import _parents


@pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc, which Linux alone has")
def test_a_process_cannot_hide_its_parent_by_its_name(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to(Path(shutil.which("sleep") or "/bin/sleep"))
    process = subprocess.Popen([program, "60"])
    try:
        assert dict(_parents())[process.pid] == os.getpid()
    finally:
        process.kill()
        process.wait()
