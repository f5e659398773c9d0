"""Ids of evidence are looked up: what each stands for, and what holds it, in text bounded and visible."""

import shlex
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.cli.main import app
from agent_evo_dagster.query.pointing import pointed
from agent_evo_dagster.query.store import QueryError, run_query
from agent_evo_dagster.query.tracing import MOST, Found, Traced, trace
from agent_evo_dagster.training.types import METRIC_SCHEMA
from agent_evo_dagster.warehouse import Warehouse


@pytest.fixture
def failed(warehouse: Path) -> dict[str, object]:
    """The step of the call that failed, as its round stored it."""
    steps = Warehouse(warehouse).read(("trajectories",), "round-0001")
    return steps.filter(pl.col("outcome") == "failure").row(0, named=True)


def one(warehouse: Path, name: str) -> Traced:
    (found,) = trace(warehouse, [name])[name].shown
    return found


def store_findings(warehouse: Path, *names: str) -> None:
    rows = [{"finding_id": name, "origin": "session", "kind": "denied", "evidence": ["e1"]} for name in names]
    Warehouse(warehouse).write(("session_findings",), "round-0001", pl.DataFrame(rows, schema=FINDING_SCHEMA))


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
    store_findings(warehouse, "f-0123456789abcdef")
    found = one(warehouse, "f-0123456789abcdef")
    assert found.kind == "finding" and dict(found.facts)["evidence"] == ["e1"]


def test_the_beginning_of_an_id_is_enough_and_several_that_begin_so_are_all_shown(warehouse, failed):
    name = failed["step_id"]
    assert trace(warehouse, [name[:-2]])[name[:-2]].shown[0].id == name
    with pytest.raises(QueryError, match="at least 6 characters"):
        trace(warehouse, [name[:5]])


@pytest.mark.parametrize("name", ["' OR 1=1 --", "%%%%%%%%", "reward@0-10", "x'); DROP TABLE steps; --"])
def test_what_is_no_id_is_looked_up_as_the_text_that_it_is(warehouse, name):
    assert trace(warehouse, [name]) == {name: Found((), 0)}


ALIKE = [f"f-aaaaaa{number:04}" for number in range(60)]


def test_each_id_has_a_limit_of_its_own_and_what_is_left_out_is_counted(warehouse):
    store_findings(warehouse, *ALIKE)
    found = trace(warehouse, ["f-aaaaaa", ALIKE[55], "f-aaaaaa"])
    assert [one.id for one in found["f-aaaaaa"].shown] == ALIKE[:MOST]
    assert found["f-aaaaaa"].left_out == 60 - MOST
    assert [one.id for one in found[ALIKE[55]].shown] == [ALIKE[55]] and not found[ALIKE[55]].left_out


def test_what_has_exactly_the_id_is_shown_alone_though_many_begin_so(warehouse):
    store_findings(warehouse, *ALIKE, "f-aaaaaa")
    assert [one.id for one in trace(warehouse, ["f-aaaaaa"])["f-aaaaaa"].shown] == ["f-aaaaaa"]


def test_an_event_that_two_steps_name_is_one_thing(warehouse, failed):
    stored = Warehouse(warehouse).read(("trajectories",), "round-0001")
    event = failed["event_ids"][0]
    others = pl.when(pl.col("kind") == "prompt").then(pl.lit([event])).otherwise("evidence_ids")
    Warehouse(warehouse).write(("trajectories",), "round-0001", stored.with_columns(evidence_ids=others))
    found = trace(warehouse, [event])[event]
    assert len(found.shown) == 2 and found.left_out == 0


def test_an_id_that_is_no_text_is_refused(warehouse):
    with pytest.raises(QueryError, match=r"An id was expected as text in UTF-8, and character 7 .*udcff"):
        trace(warehouse, ["abcdef\udcff"])


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


def test_the_command_says_how_many_more_begin_so(home):
    store_findings(home, *ALIKE)
    result = CliRunner().invoke(app, ["evidence", "f-aaaaaa"])
    assert result.exit_code == 0 and result.stdout.count("finding f-aaaaaa") == MOST
    assert f"f-aaaaaa stands for {60 - MOST} more, which are not shown" in result.stderr


def test_a_long_text_is_cut_in_its_middle(home):
    long = Warehouse(home).read(("trajectories",), "round-0001").with_columns(text=pl.lit("a" * 5000 + "end"))
    Warehouse(home).write(("trajectories",), "round-0001", long)
    name = long["step_id"][0]
    output = CliRunner().invoke(app, ["evidence", name, "--characters", "100"]).stdout
    assert "4,903 characters are left out here" in output and "end" in output and len(output) < 1500


def test_what_other_commands_show_is_told_with_the_command(home):
    result = CliRunner().invoke(app, ["evidence", "p-49852d4bfb677713", "round-0001", "kl@0-3"])
    assert result.exit_code == 1
    assert "by: agent-evo patches show p-49852d4bfb677713\n" in result.stderr
    assert "by: agent-evo rounds show round-0001\n" in result.stderr
    assert 'by: agent-evo query "SELECT' not in result.stderr and "agent-evo query 'SELECT" in result.stderr


@pytest.mark.parametrize(
    ("one", "rows"),
    [
        ("reward@2-3", [("round-0001", 2, 0.5), ("round-0001", 3, 0.5)]),
        ('it\'s; "$(ls)" {name}@1-2', [("round-0001", 1, 0.25)]),
        ("rollouts.reward@1-1", [("round-0001", 1, 0.5)]),
        ("rollouts.equal_groups@1-9", [("round-0001", 1, 0.5)]),
        ("never@1-2", []),
    ],
)
def test_the_command_of_a_metric_finds_its_steps_whatever_it_is_called(warehouse, one, rows):
    values = [(step, "reward", 0.5, True) for step in (1, 2, 3)] + [(1, 'it\'s; "$(ls)" {name}', 0.25, True)]
    metrics = pl.DataFrame(values, schema=METRIC_SCHEMA, orient="row")
    Warehouse(warehouse).write(("training_metrics",), "round-0001", metrics)
    rollouts = pl.DataFrame({"step": [1] * 4, "group": [0, 0, 1, 1], "reward": [0.0, 1.0, 0.5, 0.5]})
    Warehouse(warehouse).write(("rollout_trajectories",), "round-0001", rollouts)
    command = pointed(one).split("by: ")[1]
    program, query, sql = shlex.split(command)
    assert (program, query) == ("agent-evo", "query")
    assert run_query(warehouse, sql).rows == rows


@pytest.mark.parametrize("one", ["f-0123456789abcdef", "p-xyz", "reward", "reward@1", "round-1", "@1-2", ""])
def test_what_has_another_form_is_looked_up(one):
    assert pointed(one) is None
