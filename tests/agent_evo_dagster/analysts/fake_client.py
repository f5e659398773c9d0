"""A program `claude` for tests: it takes the flags of the real client and does what a script file says."""

import json
import stat
import sys
from pathlib import Path
from typing import Any

# Flags of the client 2.1 that take a value, and those that take none; anything else it refuses.
PROGRAM = """#!{python}
import json, os, pathlib, subprocess, sys, time

if sys.argv[1:] == ["--version"]:
    print("2.1.0 (Claude Code)")
    sys.exit()

VALUED = {{"--output-format", "--tools", "--setting-sources", "--permission-mode", "--max-turns",
    "--system-prompt", "--append-system-prompt", "--json-schema", "--max-budget-usd", "--model",
    "--session-id", "--settings", "--allowedTools", "--disallowedTools", "--mcp-config"}}
PLAIN = {{"-p", "--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence"}}
flags, rest = {{}}, sys.argv[1:]
while rest:
    name = rest.pop(0)
    if name in VALUED:
        flags[name] = rest.pop(0)
    elif name in PLAIN:
        flags[name] = True
    else:
        print(f"error: unknown option '{{name}}'", file=sys.stderr)
        sys.exit(1)
here = pathlib.Path({folder!r})
plan = json.loads((here / "plan.json").read_text())
seen = {{
    "pid": os.getpid(),
    "flags": flags, "prompt": sys.stdin.read(), "cwd": os.getcwd(),
    "files": sorted(str(p) for p in pathlib.Path().rglob("*") if p.is_file()),
    "env": dict(os.environ),
}}
config = pathlib.Path(os.environ.get("CLAUDE_CONFIG_DIR") or here / "none")
seen["config"] = {{p.name: p.read_text() for p in config.glob("*")}}
if "login" in plan:
    (config / "new").write_text(plan["login"])
    (config / "new").replace(config / ".credentials.json")
with (here / "seen.jsonl").open("a") as log:
    log.write(json.dumps(seen) + "\\n")
for hook in plan.get("hooks", []):
    event = {{"session_id": flags.get("--session-id"), "cwd": os.getcwd(), **hook}}
    settings = json.loads(pathlib.Path(flags["--settings"]).read_text())
    for group in settings["hooks"][hook["hook_event_name"]]:
        for entry in group["hooks"]:
            subprocess.run(entry["command"], shell=True, input=json.dumps(event).encode(), check=True)
for name, text in plan.get("writes", {{}}).items():
    pathlib.Path(name).write_text(text)
time.sleep(plan.get("sleep", 0))
print(plan.get("stderr", ""), file=sys.stderr)
answers = plan.get("outputs", [])
print(answers[min(len((here / "seen.jsonl").read_text().splitlines()), len(answers)) - 1] if answers else "")
sys.exit(plan.get("exit", 0))
"""


def result(structured: object = None, **fields: object) -> str:
    """What the client prints with `--output-format json`."""
    usage = {"input_tokens": 50, "output_tokens": 9, "cache_read_input_tokens": 1}
    told = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "done",
        "session_id": "s",
        "num_turns": 2,
        "total_cost_usd": 0.01,
        "usage": usage,
        "permission_denials": [],
    }
    if structured is not None:
        told["structured_output"] = structured
    return json.dumps({**told, **fields})


class FakeClient:
    """The program in `folder`, for PATH; `seen` tells how it was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        program = self.bin / "claude"
        program.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.plan()

    def plan(self, *outputs: str, **more: object) -> None:
        """What it prints, call by call, and what else it does."""
        (self.folder / "plan.json").write_text(json.dumps({"outputs": outputs, **more}))

    @property
    def seen(self) -> list[dict[str, Any]]:
        log = self.folder / "seen.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
