"""Sessions as Claude Code's hooks would have recorded them: the fields of each event kind. Not the stories.

Ids and times come from the session's name and a clock that the story moves, so that the same story gives the
same bytes.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

Json = object
Object = Mapping[str, Json]

HOME = "/home/sam"
PROJECT = f"{HOME}/arithmetic-agent"


@dataclass
class Session:
    """One session; each method records what the client would have sent to its hooks."""

    name: str
    begin: str  # ISO 8601
    mode: str = "acceptEdits"
    lines: list[str] = field(default_factory=list)
    session_id: str = ""
    prompt_id: str | None = None
    agent: tuple[str, str] | None = None  # id and type while a subagent is at work
    now: int = 0
    made: int = 0

    def __post_init__(self) -> None:
        self.session_id = self.uuid("session")
        self.now = int(datetime.fromisoformat(self.begin).timestamp()) * 10**9

    def digest(self, what: str) -> str:
        """Hex digits that nothing else in the samples has."""
        self.made += 1
        return hashlib.sha256(f"{self.name}/{what}/{self.made}".encode()).hexdigest()

    def uuid(self, what: str) -> str:
        """An id in the form of a random UUID."""
        d = self.digest(what)
        return f"{d[:8]}-{d[8:12]}-4{d[13:16]}-a{d[17:20]}-{d[20:32]}"

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.now += round(seconds * 1000) * 10**6 + int(self.digest("clock")[:5], 16)

    def event(self, kind: str, common: Sequence[str] = (), **fields: Json) -> None:
        """Record one event; `common` names the optional fields that events of this kind carry."""
        self.later(0.04)
        folder = PROJECT.replace("/", "-")
        hook: dict[str, Json] = {
            "session_id": self.session_id,
            "transcript_path": f"{HOME}/.claude/projects/{folder}/{self.session_id}.jsonl",
            "cwd": PROJECT,
        }
        if self.prompt_id:
            hook["prompt_id"] = self.prompt_id
        if "mode" in common:
            hook["permission_mode"] = self.mode
        if self.agent:
            hook["agent_id"], hook["agent_type"] = self.agent
        if "effort" in common:
            hook["effort"] = {"level": "medium"}
        hook |= {"hook_event_name": kind, **fields}
        record = {"captured_at": self.now, "hook": hook}
        self.lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")))

    def start(self, source: str = "startup") -> None:
        """The client opens the session."""
        self.event("SessionStart", source=source)
        if source == "startup":
            self.event(
                "InstructionsLoaded",
                file_path=f"{PROJECT}/CLAUDE.md",
                memory_type="Project",
                load_reason="session_start",
            )

    def prompt(self, text: str, *, after: float = 20) -> None:
        """A person, or something that was waited for, speaks."""
        self.later(after)
        self.prompt_id = self.uuid("prompt")
        self.event("UserPromptSubmit", ["mode"], prompt=text)

    def slash(self, command: str, arguments: str, *, after: float = 20) -> None:
        """A person types a slash command, which fires no Skill event."""
        text = f"/{command} {arguments}".rstrip()
        self.prompt(text, after=after)
        self.event(
            "UserPromptExpansion",
            ["mode"],
            expansion_type="slash_command",
            command_name=command,
            command_args=arguments,
            command_source="projectSettings",
            prompt=text,
        )

    def begin_call(self, tool: str, tool_input: Object) -> str:
        """The agent calls a tool."""
        self.later(1.5)
        call = f"toolu_01{self.digest(tool)[:22]}"
        server = {"mcp_server": {"name": tool.split("__")[1], "source": "project"}} if "__" in tool else {}
        fields = {"tool_name": tool, "tool_input": tool_input, "tool_use_id": call, **server}
        self.event("PreToolUse", ["mode", "effort"], **fields)
        return call

    def batch(self, *calls: tuple[str, Object, str, Json]) -> None:
        """The results of a step reach the agent: tool, input, id and text of each."""
        names = ("tool_name", "tool_input", "tool_use_id", "tool_response")
        listed = [dict(zip(names, call, strict=True)) for call in calls]
        self.event("PostToolBatch", ["mode", "effort"], tool_calls=listed)

    def call(
        self, tool: str, tool_input: Object, response: Json, *, took: float = 0.2, says: str = ""
    ) -> None:
        """A call that succeeds."""
        call = self.begin_call(tool, tool_input)
        self.end_call(call, tool, tool_input, response, took=took)
        self.batch((tool, tool_input, call, says or self.said(response)))

    def end_call(self, call: str, tool: str, tool_input: Object, response: Json, *, took: float) -> None:
        """A call ends well."""
        self.later(took)
        self.event(
            "PostToolUse",
            ["mode", "effort"],
            tool_name=tool,
            tool_input=tool_input,
            tool_response=response,
            tool_use_id=call,
            duration_ms=round(took * 1000),
        )

    def failing(
        self, tool: str, tool_input: Object, error: str, *, took: float = 0.2, by_user: bool = False
    ) -> None:
        """A call that fails: no PostToolUse comes."""
        call = self.begin_call(tool, tool_input)
        self.later(took)
        self.event(
            "PostToolUseFailure",
            ["mode", "effort"],
            tool_name=tool,
            tool_input=tool_input,
            tool_use_id=call,
            error=error,
            is_interrupt=by_user,
            duration_ms=round(took * 1000),
        )
        if not by_user:
            self.batch((tool, tool_input, call, error))

    def invalid(self, tool: str, tool_input: Object, error: str) -> None:
        """A call that the client refuses before it runs: PostToolBatch alone tells."""
        self.later(1)
        text = f"<tool_use_error>{error}</tool_use_error>"
        self.batch((tool, tool_input, f"toolu_01{self.digest(tool)[:22]}", text))

    def bash(self, command: str, stdout: str, why: str, *, took: float = 0.4, **more: Json) -> None:
        """A command that ends with status 0."""
        response = {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False, **more}
        self.call("Bash", {"command": command, "description": why}, response, took=took)

    def bash_fails(self, command: str, output: str, why: str, *, status: int = 1) -> None:
        """A command that ends with another status."""
        self.failing("Bash", {"command": command, "description": why}, f"Exit code {status}\n{output}")

    def read(self, path: str, content: str) -> None:
        """A file that is there."""
        lines = content.count("\n") + 1
        file = {"filePath": f"{PROJECT}/{path}", "content": content, "numLines": lines, "startLine": 1}
        response = {"type": "text", "file": {**file, "totalLines": lines}}
        self.call("Read", {"file_path": f"{PROJECT}/{path}"}, response, took=0.01)

    def read_missing(self, path: str) -> None:
        """A file that is not there."""
        error = f"File does not exist. Note: your current working directory is {PROJECT}."
        self.failing("Read", {"file_path": f"{PROJECT}/{path}"}, error, took=0.01)

    def edit(self, path: str, old: str, new: str) -> None:
        """One replacement in a file."""
        file = f"{PROJECT}/{path}"
        asked = {"file_path": file, "old_string": old, "new_string": new, "replace_all": False}
        patch = [
            {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [f"-{old}", f"+{new}"]}
        ]
        response = {"filePath": file, "oldString": old, "newString": new, "originalFile": f"{old}\n"}
        response_end = {"structuredPatch": patch, "userModified": False, "replaceAll": False}
        self.call(
            "Edit", asked, response | response_end, says=f"The file {file} has been updated successfully."
        )

    def skill(self, skill: str, arguments: str = "") -> None:
        """A skill, called by the agent."""
        asked = {"skill": skill, "args": arguments} if arguments else {"skill": skill}
        response = {"success": True, "commandName": skill}
        self.call("Skill", asked, response, took=0.03, says=f"Launching skill: {skill}")

    @contextmanager
    def subagent(self, kind: str, task: str, *, answer: str) -> Iterator[None]:
        """An agent that works while its caller waits."""
        asked = {"description": task[:40], "prompt": task, "subagent_type": kind, "run_in_background": False}
        call = self.begin_call("Agent", asked)
        caller, begun = self.agent, self.now
        agent_id = f"a{self.digest('agent')[:16]}"
        with self.agent_at_work(agent_id, kind, answer):
            yield
        self.agent = caller
        response = self.agent_response(agent_id, kind, task, answer, round((self.now - begun) / 1e6))
        self.end_call(call, "Agent", asked, response, took=0.1)
        self.batch(("Agent", asked, call, [{"type": "text", "text": answer}]))

    @contextmanager
    def agent_at_work(self, agent_id: str, kind: str, answer: str) -> Iterator[None]:
        """What happens inside belongs to this agent."""
        self.agent = (agent_id, kind)
        self.event("SubagentStart")
        yield
        self.agent = (agent_id, kind)
        self.subagent_stop(answer)
        self.agent = None

    def agent_response(self, agent_id: str, kind: str, task: str, answer: str, took: int) -> Object:
        """The result of an Agent call."""
        done = {"status": "completed", "prompt": task, "agentId": agent_id, "agentType": kind}
        return done | {"content": [{"type": "text", "text": answer}], "totalDurationMs": took}

    def subagent_stop(self, answer: str) -> None:
        """The agent at work has answered."""
        agent_id = self.agent[0] if self.agent else f"a{self.digest('fork')[:16]}"
        where = f"{HOME}/.claude/projects/{PROJECT.replace('/', '-')}/{self.session_id}"
        fork = (
            {} if self.agent else {"agent_id": agent_id, "agent_type": ""}
        )  # the client's own, e.g. to summarise
        path = f"{where}/subagents/agent-{agent_id}.jsonl"
        told = {"agent_transcript_path": path, "last_assistant_message": answer}
        more = {"stop_hook_active": False, **told, "background_tasks": [], "session_crons": []}
        self.event("SubagentStop", ["mode", "effort"], **fork, **more)

    def say(self, text: str) -> None:
        """The assistant's words appear."""
        turn, message = self.uuid("turn"), self.uuid("message")
        self.event("MessageDisplay", turn_id=turn, message_id=message, index=0, final=True, delta=text)

    def stop(self, text: str, *, waiting_for: Sequence[str] = ()) -> None:
        """The turn ends."""
        self.later(2)
        tasks = [{"id": task, "type": "local_bash", "status": "running"} for task in waiting_for]
        more = {"last_assistant_message": text, "background_tasks": tasks, "session_crons": []}
        self.event("Stop", ["mode", "effort"], stop_hook_active=False, **more)

    def end(self, reason: str = "prompt_input_exit") -> None:
        """The client closes the session."""
        self.later(5)
        self.event("SessionEnd", reason=reason)

    def said(self, response: Json) -> Json:
        """What the agent reads of a tool's response."""
        if isinstance(response, Mapping) and "stdout" in response:
            return response["stdout"] or "(Bash completed with no output)"
        if isinstance(response, Mapping) and isinstance(response.get("file"), Mapping):
            content = response["file"]["content"]
            return "\n".join(f"{n}\t{line}" for n, line in enumerate(str(content).split("\n"), 1))
        return response if isinstance(response, list) else json.dumps(response, ensure_ascii=False)
