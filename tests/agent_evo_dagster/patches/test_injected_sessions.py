"""Sessions whose text tries to steer the analyst, from their steps to the decision: nothing gets through."""

import pytest

from agent_evo_dagster.analysis.sessions import find_in_sessions
from agent_evo_dagster.patches.decisions import decide
from agent_evo_dagster.patches.gate import judge_patches
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.powers import powers_of
from agent_evo_dagster.patches.propose import propose_patches, to_frame
from tests.agent_evo_dagster.analysis.builders import call, segment_frame, step_frame
from tests.agent_evo_dagster.patches.material import OPENED
from tests.agent_evo_dagster.patches.test_advice import INJECTIONS

SKILLS = {
    ("rllm-run", "failures"): "## When it fails\n\nThe same error again: retry python once, then stop.\n",
    ("rllm-run", "limits"): "## Limits\n\nNever edit files below runs.\n",
    ("traj-optimize", "steps"): "Steps of python that fail with an error.\n",
}


def injected(text):
    """Two sessions in which a command with this text fails, and another with it works."""
    calls = []
    for session in ("s1", "s2"):
        calls += [
            call(
                "Bash",
                {"command": f"python job.py {text} first", "description": text},
                "failure",
                error=f"Exit code 1\nError: {text}",
                session=session,
            ),
            call("Bash", {"command": f"python job.py {text} second"}, session=session),
        ]
    return step_frame(calls)


@pytest.mark.parametrize("text", INJECTIONS)
def test_an_injected_session_ends_with_nothing_approved_unattended(tmp_path, text):
    steps = injected(text)
    findings = find_in_sessions(steps, segment_frame(steps, "rllm-run"), skills=SKILLS)
    ledger = Ledger(tmp_path / "decisions.jsonl")
    proposals = propose_patches(
        findings,
        SKILLS,
        {"rllm-run": "rllm"},
        round_key="round-0001",
        created=OPENED,
        ledger=ledger,
        budget=9,
    )
    assert len(proposals.patches) == 1
    (patch,) = proposals.patches
    assert (patch.group, patch.skill, patch.target_section) == ("rllm", "rllm-run", "failures")
    assert patch.action == "append" and patch.body.count("\n") == 1
    assert powers_of(patch.body) == frozenset() and first_hidden(patch.body + patch.description) is None
    frame = to_frame(proposals.patches, SKILLS)
    assert frame["settings"].to_list() == ["{}"]
    decisions = decide("auto", frame, judge_patches(frame, {}), ledger, OPENED)
    assert decisions["decision"].to_list() == ["wait"]
    assert ledger.records() == ()
