"""The inputs of a whole report, made once."""

import pytest

from agent_evo_dagster.analysis.report import ReportInputs
from tests.agent_evo_dagster.analysis.inputs import small_inputs


@pytest.fixture(scope="session")
def inputs() -> ReportInputs:
    """A round with two sessions, a slow run, one approved patch, and a round before it."""
    return small_inputs()
