"""Ids of evidence are looked up: what each stands for, and what holds it, in text bounded and visible."""

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.cli.main import app
from agent_evo_dagster.query.store import QueryError
from agent_evo_dagster.query.tracing import Traced, trace
from agent_evo_dagster.warehouse import Warehouse


@pytest.fixture
def failed(warehouse: Path) -> dict[str, object]:
    """The step of the call that failed, as its round stored it."""
    steps = Warehouse(warehouse).read(("trajectories",), "round-0001")
    return steps.filter(pl.col("outcome") == "failure").row(0, named=True)


def one(warehouse: Path, name: str) -> Traced:
    (found,) = trace(warehouse, [name])[name]
    return found


def test_a_step_an_event_and_a_segment_lead_to_each_other_and_to_their_session(warehouse, failed):
    step = one(warehouse, failed["step_id"])
    facts = dict(step.facts)
    assert (step.kind, step.round, facts["session"], facts["tool"]) == ("step", "round-0001", "s1", "Bash")
    assert (facts["outcome"], facts["skill"], facts["error"]) == ("failure", "rllm-run", "Exit code 1")
    event = one(warehouse, facts["events"][-1])
    told = dict(event.facts)
    assert (event.kind, told["step"], told["segment"]) == ("event", step.id, facts["segment"])
    segment = one(warehouse, facts["segment"])
    assert segment.kind == "segment" and step.id in dict(segment.facts)["steps"]


def test_a_finding_and_a_session_are_found_as_well(warehouse):
    row = {"finding_id": "f-0123456789abcdef", "origin": "session", "kind": "denied", "evidence": ["e1"]}
    frame = pl.DataFrame([row], schema=FINDING_SCHEMA)
    Warehouse(warehouse).write(("session_findings",), "round-0001", frame)
    found = one(warehouse, "f-0123456789abcdef")
    assert found.kind == "finding" and dict(found.facts)["evidence"] == ["e1"]


def test_the_beginning_of_an_id_is_enough_and_several_that_begin_so_are_all_shown(warehouse, failed):
    name = failed["step_id"]
    assert trace(warehouse, [name[:-2]])[name[:-2]][0].id == name
    with pytest.raises(QueryError, match="at least 6 characters"):
        trace(warehouse, [name[:5]])


@pytest.mark.parametrize("name", ["' OR 1=1 --", "%%%%%%%%", "reward@0-10", "x'); DROP TABLE steps; --"])
def test_what_is_no_id_is_looked_up_as_the_text_that_it_is(warehouse, name):
    assert trace(warehouse, [name]) == {name: []}


@pytest.fixture
def home(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = warehouse.parent / "home"
    home.mkdir()
    warehouse.rename(home / "warehouse")
    monkeypatch.setenv("AGENT_EVO_HOME", str(home))
    return home / "warehouse"


def test_the_command_shows_text_bounded_and_visible_and_tells_what_it_does_not_know(home):
    steps = Warehouse(home).read(("trajectories",), "round-0010")
    prompt = steps.filter(pl.col("kind") == "prompt")["step_id"][0]
    result = CliRunner().invoke(app, ["evidence", prompt, "nothing-like-it"])
    assert result.exit_code == 1
    assert f"step {prompt}  round-0010" in result.stdout and "session     s2" in result.stdout
    assert "\x1b" not in result.stdout and "[31mred" in result.stdout
    assert "No round has stored anything under nothing-like-it" in result.stderr
    assert CliRunner().invoke(app, ["evidence", prompt]).exit_code == 0


def test_a_long_text_is_cut_in_its_middle(home):
    long = Warehouse(home).read(("trajectories",), "round-0001").with_columns(text=pl.lit("a" * 5000 + "end"))
    Warehouse(home).write(("trajectories",), "round-0001", long)
    name = long["step_id"][0]
    output = CliRunner().invoke(app, ["evidence", name, "--characters", "100"]).stdout
    assert "4,903 characters are left out here" in output and "end" in output and len(output) < 1500
