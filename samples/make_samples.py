"""The sample sessions: people who train an arithmetic tool agent with this system. Made up from end to end.

`python samples/make_samples.py [FOLDER]` writes them, the same bytes each time.
"""

import sys
from pathlib import Path

from recorder import PROJECT, Session

HERE = Path(__file__).parent
RANGE_ERROR = (
    "agent-evo: The setting learning_rate=0.5 was asked for; it must lie within 1e-06 and 0.002. "
    "Choose a value in this range: agent-evo rounds run --set learning_rate=1e-4"
)
REPORT = """# round-0001

| | before | after |
|---|---|---|
| held-out accuracy | 0.41 | 0.43 |
| zero-variance groups | 0.12 | 0.14 |

Finding: no_learning (reward flat over 10 steps, gradient norm 0.21, KL 0.0004).
Patch: rllm-config/optimisation, learning_rate 2e-5 -> 4e-5, verdict accept, approved by policy auto."""


def first_round() -> Session:
    """A first round, asked for in plain words: clarify, configure, run in the background, watch, analyse."""
    s = Session("first-round", "2025-03-03T09:02:11+00:00")
    s.start()
    s.prompt("Train the calculator agent on short sums and tell me whether it got better.")
    s.skill("rllm-clarify", "calculator agent, short sums")
    question = {
        "question": "How long may the run take?",
        "header": "Time",
        "options": [
            {"label": "5 minutes", "description": "one cautious round"},
            {"label": "1 hour", "description": "several rounds in a row"},
        ],
        "multiSelect": False,
    }
    answers = {"How long may the run take?": "5 minutes"}
    s.call(
        "AskUserQuestion", {"questions": [question]}, {"questions": [question], "answers": answers}, took=14
    )
    s.skill("rllm-config")
    s.read_missing("configs/default.yaml")
    s.bash(
        "ls .claude/skills",
        "rllm-analyze\nrllm-clarify\nrllm-config\nrllm-monitor\nrllm-run",
        "List the skills",
    )
    s.read(
        ".claude/skills/rllm-config/SKILL.md",
        "# rllm-config\n\nlearning_rate: {default: 2.0e-5}\nmax_steps: {default: 10}",
    )
    s.skill("rllm-run")
    launch = "agent-evo rounds run --request 'calculator agent, short sums' > round.log 2>&1"
    started = {
        "stdout": "",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "backgroundTaskId": "b7q2m4xk1",
    }
    asked = {"command": launch, "description": "Run one round", "run_in_background": True}
    s.call("Bash", asked, started, says="Command running in background with ID: b7q2m4xk1")
    watch(s)
    s.skill("rllm-analyze", "round-0001")
    s.bash("agent-evo report round-0001", REPORT, "The round's report")
    s.say(
        "Held-out accuracy went from 0.41 to 0.43, within its interval: no evidence yet that it got better."
    )
    s.stop("No evidence yet that it got better; the next round trains with a higher learning rate.")
    s.end()
    return s


def watch(s: Session) -> None:
    """The background run is looked at: after a wake-up, then when the client tells that it ended."""
    s.skill("rllm-monitor", "round-0001")
    wake = "Look at round.log of round-0001 and stop the run if the reward falls to 0."
    asked = {"delaySeconds": 90, "reason": "the policy is loading", "prompt": wake}
    s.call(
        "ScheduleWakeup",
        asked,
        {"scheduledFor": s.now // 10**6 + 90000, "clampedDelaySeconds": 90, "wasClamped": False},
    )
    s.stop("The round is running. I look again in 90 seconds.", waiting_for=["b7q2m4xk1"])
    s.prompt(wake, after=90)
    s.bash(
        "tail -n 3 round.log", "step 3 reward 0.42\nstep 4 reward 0.40\nstep 5 reward 0.43", "Newest steps"
    )
    state = {
        "task_id": "b7q2m4xk1",
        "task_type": "local_bash",
        "status": "running",
        "output": "",
        "exitCode": None,
    }
    waiting = {"task_id": "b7q2m4xk1", "block": False, "timeout": 1000}
    s.call("TaskOutput", waiting, {"retrieval_status": "not_ready", "task": state})
    s.stop("Five of ten steps, reward steady near 0.42.", waiting_for=["b7q2m4xk1"])
    s.prompt(
        "<task-notification>\n<task-id>b7q2m4xk1</task-id>\n<status>completed</status>\n</task-notification>",
        after=75,
    )
    ended = state | {"status": "completed", "output": "round-0001: done", "exitCode": 0}
    s.call("TaskOutput", waiting, {"retrieval_status": "success", "task": ended})


def repeated_failure() -> Session:
    """The same failing call three times, then its repair; an edit that does not apply, then one that does."""
    s = Session("repeated-failure", "2025-03-03T13:40:05+00:00")
    s.start()
    s.prompt("Try a much higher learning rate, 0.5.")
    s.skill("rllm-run", "learning_rate=0.5")
    for _ in range(3):
        s.bash_fails(
            "agent-evo rounds run --set learning_rate=0.5", RANGE_ERROR, "Run with learning rate 0.5"
        )
    s.skill("rllm-config", "range of learning_rate")
    s.bash(
        "agent-evo rounds run --set learning_rate=2e-3",
        "round-0002: done\nheld-out accuracy 0.43 -> 0.12",
        "Run with the highest one",
        took=140,
    )
    s.prompt("That ruined it. Write the range down in our notes.")
    s.read_missing("NOTES.txt")
    s.read("NOTES.md", "learning_rate: any\n")
    s.invalid(
        "Edit",
        {
            "file_path": f"{PROJECT}/NOTES.md",
            "old_string": "learning rate: any",
            "new_string": "learning_rate: <= 1e-3",
        },
        "String to replace not found in file.\nString: learning rate: any",
    )
    s.edit("NOTES.md", "learning_rate: any", "learning_rate: at most 1e-3; 2e-3 ruined round-0002")
    s.bash_fails(
        "python -m pytest -q tests/test_notes.py",
        "E   AssertionError: no line may be longer than 40\n1 failed",
        "Check the notes",
    )
    s.edit("NOTES.md", "learning_rate: at most 1e-3; 2e-3 ruined round-0002", "learning_rate: at most 1e-3")
    s.bash("python -m pytest -q tests/test_notes.py", "1 passed, 0 failed", "Check the notes again", took=1.1)
    s.stop("The notes now give the range, and their check passes.")
    s.end()
    return s


def slash_command() -> Session:
    """A skill that a person starts by slash command and that lives over several turns and a compaction."""
    s = Session("slash-command", "2025-03-04T08:15:30+00:00")
    s.start()
    s.slash("rllm-train", "three rounds, seed 1")
    s.bash(
        "agent-evo rounds run --seed 1 --count 3",
        "round-0003: done\nround-0004: done",
        "Run three rounds",
        took=600,
        backgroundTaskId="b3x9k2wq7",
        timedOutAfterMs=600000,
    )
    s.stop("The third round goes on in the background.", waiting_for=["b3x9k2wq7"])
    s.prompt("How is it going?", after=60)
    s.bash(
        "agent-evo rounds list",
        "round-0003 done 0.44\nround-0004 done 0.52\nround-0005 running",
        "List the rounds",
    )
    s.stop("Two are done, accuracy 0.44 and 0.52; the third is at step 6 of 10.", waiting_for=["b3x9k2wq7"])
    s.prompt(
        "<task-notification>\n<task-id>b3x9k2wq7</task-id>\n<status>completed</status>\n</task-notification>",
        after=120,
    )
    s.bash(
        "agent-evo rounds show round-0005",
        "round-0005 done\nheld-out accuracy 0.61 [0.55, 0.67]",
        "The third round",
    )
    s.stop("All three are done: 0.44, 0.52, 0.61.")
    s.later(30)
    s.event("PreCompact", trigger="manual", custom_instructions=None)
    s.subagent_stop("Three rounds were run with seed 1; accuracy rose to 0.61.")
    s.event("SessionStart", source="compact", model="claude-opus-5-5")
    s.event("PostCompact", trigger="manual", compact_summary="Three rounds, seed 1: 0.44, 0.52, 0.61.")
    s.slash("rllm-analyze", "round-0005")
    s.bash("agent-evo report round-0005", "Finding: none above the threshold.\nPatch: none.", "The report")
    s.stop("Nothing to mend in round-0005.")
    s.end()
    return s


def subagents() -> Session:
    """Three agents at once that end out of order, one of which calls a skill, one an agent of its own."""
    s = Session("subagents", "2025-03-04T14:20:00+00:00")
    s.start()
    s.prompt(
        "Compare the last three rounds: one agent for the reward, one for lengths, one for the wrong answers."
    )
    tasks = {
        "Reward": "Compare the reward of rounds 3 to 5.",
        "Lengths": "Compare completion lengths.",
        "Errors": "Read ten wrong answers.",
    }
    asked = {
        name: {"description": name, "prompt": task, "subagent_type": "Explore", "run_in_background": False}
        for name, task in tasks.items()
    }
    calls = {name: s.begin_call("Agent", asked[name]) for name in tasks}
    ids = {name: (f"a{s.digest(name)[:16]}", "Explore") for name in tasks}
    for name in tasks:
        s.agent = ids[name]
        s.event("SubagentStart")
    s.agent = ids["Reward"]
    s.bash("agent-evo rounds list --json", '[{"round":"round-0005","reward":0.58}]', "Rewards as JSON")
    s.agent = ids["Errors"]
    s.skill("rllm-analyze", "wrong answers of round-0005")
    s.agent = ids["Lengths"]
    s.bash_fails(
        "jq .length runs/round-0005/metrics.jsonl", "jq: command not found", "Lengths by jq", status=127
    )
    s.bash(
        "grep -o '\"length\":[0-9]*' runs/round-0005/metrics.jsonl",
        '"length":41\n"length":39',
        "Lengths by grep",
    )
    s.agent = ids["Errors"]
    with s.subagent(
        "general-purpose", "Sort the ten answers by kind of error.", answer="7 carry errors, 3 cut off."
    ):
        s.read("runs/round-0005/wrong.txt", "17 + 26 = 33\n48 + 35 = 73\n")
    answers = {
        "Lengths": "Lengths are steady near 40.",
        "Errors": "Most errors are carries.",
        "Reward": "Reward rose to 0.58.",
    }
    for name, answer in answers.items():
        s.agent = ids[name]
        s.subagent_stop(answer)
        s.agent = None
        s.end_call(
            calls[name],
            "Agent",
            asked[name],
            s.agent_response(ids[name][0], "Explore", tasks[name], answer, 9000),
            took=0.1,
        )
    s.batch(
        *(("Agent", asked[name], calls[name], [{"type": "text", "text": answers[name]}]) for name in tasks)
    )
    s.stop("Reward rose to 0.58, lengths are steady, and most errors are carries.")
    s.end()
    return s


def permissions() -> Session:
    """Calls that are denied, refused or empty-handed, a tool server that fails, and an API error."""
    s = Session("permissions", "2025-03-05T10:05:00+00:00", mode="default")
    s.start()
    s.prompt("Clean up the old runs, then look for NaN in the newest log.")
    removal = {"command": "rm -r runs/round-0001", "description": "Remove an old run"}
    call = s.begin_call("Bash", removal)
    suggestion = [
        {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "rm:*"}], "destination": "session"}
    ]
    s.event(
        "PermissionRequest",
        ["mode", "effort"],
        tool_name="Bash",
        tool_input=removal,
        permission_suggestions=suggestion,
    )
    s.batch(
        (
            "Bash",
            removal,
            call,
            "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        )
    )
    push = {"command": "git push --force", "description": "Publish"}
    call = s.begin_call("Bash", push)
    s.event(
        "PermissionDenied",
        ["mode", "effort"],
        tool_name="Bash",
        tool_input=push,
        tool_use_id=call,
        reason="forced pushes are not allowed",
    )
    s.batch(("Bash", push, call, "Permission to use Bash with command git push --force has been denied."))
    s.bash(
        "grep -c NaN runs/round-0005/metrics.jsonl",
        "0",
        "Look for NaN",
        returnCodeInterpretation="No matches found",
    )
    s.invalid("Skill", {"skill": "rllm-cleanup"}, "Unknown skill: rllm-cleanup")
    s.invalid(
        "Bash",
        {"cmd": "agent-evo doctor"},
        "InputValidationError: Bash failed due to the following issue:\n"
        "The required parameter `command` is missing",
    )
    s.bash("agent-evo doctor", "spool: 5 sessions\nhooks: 16 of 16 events\nbank: valid", "Look for problems")
    s.call("mcp__tracker__note", {"text": "round-0005: 0.61"}, [{"type": "text", "text": "noted"}])
    s.failing("mcp__tracker__note", {"text": ""}, "text must not be empty")
    s.skill("rllm-monitor")
    s.event("ConfigChange", source="skills", file_path=f"{PROJECT}/.claude/skills/rllm-monitor/SKILL.md")
    s.prompt("And the GPU?")
    s.say("API Error: 529 overloaded")
    s.event("StopFailure", ["effort"], error="overloaded", last_assistant_message="API Error: 529 overloaded")
    s.end("other")
    return s


def interrupted() -> Session:
    """A command that the person interrupts, and one that the client's end leaves without a result."""
    s = Session("interrupted", "2025-03-05T16:30:00+00:00")
    s.start()
    s.prompt("跑一轮训练，学习率 1e-4。")
    begun = s.begin_call("Skill", {"skill": "rllm-run", "args": "learning_rate=1e-4"})
    shell = {
        "tool_name": "Bash",
        "tool_input": {"command": "agent-evo rounds list"},
        "tool_use_id": f"{begun}:preamble-0",
    }
    s.event(
        "PreSkillShellCommand",
        ["mode", "effort"],
        **shell,
        command_name="rllm-run",
        command_source="projectSettings",
        invoked_by="claude",
    )
    s.end_call(
        begun,
        "Skill",
        {"skill": "rllm-run", "args": "learning_rate=1e-4"},
        {"success": True, "commandName": "rllm-run"},
        took=0.2,
    )
    run = {"command": "agent-evo rounds run --set learning_rate=1e-4", "description": "训练一轮"}
    s.failing("Bash", run, "The user doesn't want to proceed with this tool use.", took=31, by_user=True)
    s.prompt("等一下，先看看上一轮的结果。")
    s.bash(
        "agent-evo rounds show round-0005", "round-0005 done\nheld-out accuracy 0.61 [0.55, 0.67]", "上一轮"
    )
    s.prompt("好，继续。")
    s.begin_call("Bash", run)
    return s


STORIES = (first_round, repeated_failure, slash_command, subagents, permissions, interrupted)


def main(folder: Path) -> None:
    """Write every session into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for story in STORIES:
        session = story()
        (folder / f"{session.name}.jsonl").write_text("\n".join(session.lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
