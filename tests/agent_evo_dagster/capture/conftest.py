"""Fixtures of the tests of capture."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent_evo_dagster.capture.spools import Spool


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    """An empty spool."""
    return Spool(tmp_path / "spool")


@pytest.fixture
def shared() -> Callable[[str], Path]:
    """A folder of the shared data, or a skipped test."""

    def find(name: str) -> Path:
        folder = Path(__file__).parents[4] / "shared" / "data" / name
        if not folder.is_dir():
            pytest.skip(f"../shared/data/{name} is not here")
        return folder

    return find
