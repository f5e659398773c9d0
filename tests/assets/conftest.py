"""Homes that several tests of the graph begin from; each works on a copy."""

from pathlib import Path

import pytest

from tests.assets.graph import fake_graph


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a finished round whose only patch waits for a person."""
    home = tmp_path_factory.mktemp("finished") / "home"
    with fake_graph(home, policy="manual") as graph:
        graph.round()
    return home
