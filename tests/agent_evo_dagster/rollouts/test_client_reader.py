"""Claude Code does a task in a new place with one text of the skill; what came of it is checked there."""

import errno
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.errors import ClientError
from agent_evo_dagster.rollouts import client_reader
from agent_evo_dagster.rollouts.client_reader import ClientReader
from agent_evo_dagster.rollouts.running import Runner
from agent_evo_dagster.rollouts.tasks import Task
from agent_evo_dagster.rollouts.types import MOST_TOKENS, MOST_USD, Budget
from tests.agent_evo_dagster.analysts.fake_client import result
from tests.agent_evo_dagster.operators.scripted_model import ScriptedModel, needs_client
from tests.agent_evo_dagster.rollouts.material import ENOUGH, compiled, sides, tasks

CHECKED = Task.model_validate(
    {
        "id": "mend",
        "prompt": "Mend it.",
        "files": {"src/sum.py": "print(2)\n"},
        "allow": ["Bash(python3 *)"],
        "check": {"command": "grep -q 3 src/sum.py", "seconds": 5.0},
        "limits": {"turns": 8, "seconds": 60.0, "money": 0.5},
    }
)
ASKED = Task(id="ask", prompt="How many?", answer="42")
SKILL = "---\nname: alpha\ndescription: how to mend\n---\n\nWrite 3.\n"


def attempt(task=CHECKED, left=ENOUGH, model=None):
    return ClientReader(model).attempt(task, "alpha", [compiled(SKILL), compiled("other", "beta")], left)


def test_a_task_is_done_in_a_new_place_with_all_skills_and_no_hook(client):
    client.plan(result(modelUsage={"m": {}}), writes={"src/sum.py": "print(3)\n"})
    done = attempt(model="sonnet")
    assert (done.done, done.finish, done.tokens, done.cost_usd, done.models) == (
        True,
        "stop",
        60,
        0.01,
        ("m",),
    )
    (seen,) = client.seen
    assert seen["prompt"] == "Do this as the skill alpha of this project says.\n\nMend it."
    assert [path for path in seen["files"] if not path.startswith(".claude")] == ["src/sum.py"]
    assert {path.split("/")[2] for path in seen["files"] if path.startswith(".claude")} == {"alpha", "beta"}
    flags = seen["flags"]
    assert "--settings" not in flags and flags["--no-session-persistence"]
    assert flags["--allowedTools"].endswith("Bash(python3 *)") and flags["--model"] == "sonnet"
    assert (flags["--max-turns"], flags["--max-budget-usd"]) == ("8", "0.500000")
    assert not Path(seen["cwd"]).exists()


def test_more_than_any_run_takes_counts_as_the_most_and_ends_the_trial(client):
    told = result(usage={"input_tokens": 10**30}, total_cost_usd=1e300)
    client.plan(*[told] * 2)
    done = attempt()
    assert (done.tokens, done.cost_usd) == (MOST_TOKENS, MOST_USD)
    trial = Runner(ClientReader(), ENOUGH, 2, "round-0001").trial(sides(SKILL, SKILL), [CHECKED])
    assert trial.rows.height == 1 and "(1 of 4 rollouts were run)" in trial.facts.stopped_early


def test_what_is_left_undone_is_told_by_the_check(client):
    client.plan(result(result="I mended it, every check passes."))
    assert attempt().done is False


def test_a_bound_of_the_task_is_a_failure_of_who_does_it(client):
    client.plan(result(subtype="error_max_turns", is_error=True), exit=1)
    ended = attempt()
    assert (ended.done, ended.finish) == (False, "tool_limit")
    client.plan(result(), sleep=30)
    slow = attempt(CHECKED.model_copy(update={"limits": CHECKED.limits.model_copy(update={"seconds": 0.5})}))
    assert (slow.done, slow.finish, slow.cost_usd, slow.most_usd) == (False, "timeout", None, 0.5)


def test_an_answer_is_compared_in_its_last_line(client):
    client.plan(result(result="I counted.\n\n**42**"), result(result="Maybe 42, maybe not"))
    assert [attempt(ASKED).done, attempt(ASKED).done] == [True, False]
    assert client.seen[0]["prompt"].endswith("How many?\n\nGive your answer alone on the last line.")


def test_a_run_that_the_budget_cut_short_is_no_failure_of_the_text(client):
    client.plan(result(subtype="error_max_budget_usd", is_error=True), exit=1)
    cut = attempt(left=Budget(1000.0, 10_000, 0.25))
    assert (cut.done, cut.ended) == (None, True) and client.seen[0]["flags"]["--max-budget-usd"] == "0.250000"
    client.plan(result(), sleep=30)
    assert attempt(left=Budget(0.5, 10_000, None)).ended


@pytest.mark.parametrize(
    "printed",
    [
        result(is_error=True, result="Not logged in"),
        result(subtype="error_during_execution", is_error=True),
        "no JSON",
    ],
)
def test_a_client_that_failed_by_itself_is_a_rollout_that_is_lost(client, printed):
    client.plan(printed, exit=1)
    lost = attempt()
    assert (lost.done, lost.finish, lost.ended) == (None, "infra_error", False) and lost.why


def test_a_machine_that_fails_while_a_task_is_checked_is_a_rollout_that_is_lost(client, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "/some/where")

    client.plan(result())
    monkeypatch.setattr(client_reader, "passes", full)
    lost = attempt()
    assert (lost.done, lost.finish, lost.most_usd) == (None, "infra_error", 0.5)
    assert lost.why == "the place that Claude Code worked in failed (No space left on device)"


def test_it_says_which_client_it_is_and_that_there_is_none(client, tmp_path, monkeypatch):
    assert ClientReader().engine == "claude_code 2.1.0 (Claude Code)"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClientError, match=r"is on PATH.*, or leave rollout out of AGENT_EVO_JUDGES\."):
        ClientReader().ready()


@needs_client
@pytest.mark.slow
def test_the_real_client_is_led_by_the_text_that_it_has(user, monkeypatch):
    def follows(turn, read):
        return ("Skill", {"skill": "alpha"}) if turn == 0 else "yes" if "Say yes." in read else "no"

    texts = [f"---\nname: alpha\ndescription: what to say\n---\n\n{word}\n" for word in ("Wait.", "Say yes.")]
    with ScriptedModel(follows) as model:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        runner = Runner(ClientReader(), ENOUGH, 2, "round-0001")
        trial = runner.trial(sides(*texts), tasks(2))
    done = trial.rows.group_by("policy").agg(pl.col("reward").sum()).sort("policy").rows()
    assert done == [("baseline", 0.0), ("candidate", 4.0)]
    assert trial.facts.operator.startswith("claude_code 2.") and trial.cost.usd > 0


@needs_client
@pytest.mark.slow
def test_the_real_client_mends_what_the_skill_tells_it_to(user, monkeypatch):
    script = [
        ("Skill", {"skill": "alpha"}),
        ("Read", {"file_path": "src/sum.py"}),
        ("Write", {"file_path": "src/sum.py", "content": "print(3)\n"}),
        "Mended.",
    ]
    with ScriptedModel(script) as model:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        done = attempt()
    assert (done.done, done.finish) == (True, "stop"), model.results
    assert done.cost_usd > 0 and "Write 3." in model.asked
