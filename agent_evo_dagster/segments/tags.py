"""Intents of a segment, each with its evidence in the calls: commands that ran, kinds of files that changed.

Names and outputs are not evidence: `latest.log` is not a test.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from agent_evo_dagster.segments.view import TrajectoryView

_MAX_WORDS: Final = 8  # of one command; its name and target are among the first
_HEREDOC: Final = re.compile(r"<<-?\s*['\"]?\w+['\"]?")
_SEPARATORS: Final = ("&&", "||", ";", "|")
_ASSIGNMENT: Final = re.compile(r"\w+=\S*$")
_PREFIXES: Final = frozenset(
    {"sudo", "env", "time", "nohup", "exec", "command", "uv", "poetry", "run", "then", "do"}
)
_PYTHON: Final = re.compile(r"python[\d.]*$")
# Words that may come before a program, hold its path or be Python: only they take a closer look.
_LEADS_ON: Final = re.compile(rf"\d|\w+=|[^/]*/|python|(?:timeout|{'|'.join(_PREFIXES)})$")
_TRAIN_WORD: Final = re.compile(r"(?:^|[_.\-/])(?:train|training|grpo|sft|finetune)(?:$|[_.\-/])")
_TEST_FILE: Final = re.compile(r"(?:^test_.*|.*_test)\.\w+$|.*\.(?:test|spec)\.\w+$")

_BY_COMMAND: Final = {
    "test": "pytest tox nox unittest jest vitest ctest",
    "lint": "ruff mypy black flake8 pylint pyright eslint prettier isort",
    "install": "pip pip3 conda mamba apt apt-get npm yarn pnpm brew",
    "version_control": "git gh",
    "explore": "ls cat head find grep rg tree wc sed awk less file stat du",
    "monitor": "tail ps top htop nvidia-smi npu-smi free df pgrep watch sleep",
    "network": "curl wget ssh scp rsync ping",
    "containers": "docker podman kubectl helm",
    "stop": "kill pkill killall",
    "train": "torchrun accelerate deepspeed ray",
    "build": "make cmake gcc g++ cargo go mvn gradle",
}
_TAG_OF_COMMAND: Final = {word: tag for tag, words in _BY_COMMAND.items() for word in words.split()}
_BY_TOOL: Final = {
    "ask": "AskUserQuestion",
    "delegate": "Agent Task",
    "explore": "Read Grep Glob LS",
    "monitor": "ScheduleWakeup Monitor TaskOutput BashOutput CronCreate",
    "plan": "EnterPlanMode ExitPlanMode TaskCreate TodoWrite",
    "research": "WebFetch WebSearch",
    "stop": "TaskStop KillShell",
}
_TAG_OF_TOOL: Final = {tool: tag for tag, tools in _BY_TOOL.items() for tool in tools.split()}
_WRITERS: Final = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_BY_ENDING: Final = {
    "code": "py pyi ipynb sh js jsx ts tsx c h cc cpp rs go java rb sql scala",
    "docs": "md rst txt tex",
    "config": "json yaml yml toml ini cfg conf",
}
_TAG_OF_ENDING: Final = {
    ending: f"edit_{tag}" for tag, endings in _BY_ENDING.items() for ending in endings.split()
}


def tags_of(view: TrajectoryView, positions: Iterable[int]) -> list[str]:
    """The intents of the calls among `positions`, sorted."""
    found: set[str] = set()
    scripts: list[str] = []
    for position in positions:
        tool = view.tool_name[position]
        if tool == "Bash":
            scripts.append(_without_input(view.command[position] or ""))
        elif tool in _WRITERS:
            asked = view.asked[position]
            found.update(_of_file(asked.file_path or asked.notebook_path))
        elif tool in _TAG_OF_TOOL:
            found.add(_TAG_OF_TOOL[tool])
    for command in _commands_in("\n".join(scripts)):
        words = command.split(None, _MAX_WORDS)
        if words and words[0] in _TAG_OF_COMMAND:
            found.add(_TAG_OF_COMMAND[words[0]])
        elif words and _LEADS_ON.match(words[0]):
            found.update(_of_command(_significant(words)))
    return sorted(found)


def _of_file(path: object) -> Iterator[str]:
    if not isinstance(path, str):
        return
    file = PurePosixPath(path)
    if file.name == "SKILL.md" or "/patches/" in path:
        yield "edit_skill"
    elif _TEST_FILE.match(file.name):
        yield "test"
    elif file.suffix[1:] in _TAG_OF_ENDING:
        yield _TAG_OF_ENDING[file.suffix[1:]]


def _without_input(text: str) -> str:
    """A script up to its first heredoc: what follows is input, not commands."""
    heredoc = _HEREDOC.search(text) if "<<" in text else None
    return text[: heredoc.start()] if heredoc else text


def _commands_in(script: str) -> set[str]:
    """The single commands of a script, each once."""
    for separator in _SEPARATORS:
        script = script.replace(separator, "\n")
    return set(script.split("\n"))


def _of_command(words: list[str]) -> Iterable[str]:
    """What a command is, by its program's name; `words` begin with that."""
    program = words[0].rpartition("/")[2] if words else ""
    if program in _TAG_OF_COMMAND:
        return (_TAG_OF_COMMAND[program],)
    return _of_python(words[1:]) if _PYTHON.match(program) else ()


def _significant(words: list[str]) -> list[str]:
    """The words from the program on: without assignments and wrappers such as `sudo` or `timeout 60`."""
    for place, word in enumerate(words):
        if word == "timeout" or word in _PREFIXES or _ASSIGNMENT.match(word) or word[:1].isdigit():
            continue
        return words[place:]
    return []


def _of_python(words: list[str]) -> Iterator[str]:
    """What a Python program is, by the name of its module or file; code given in line tells nothing."""
    target = next((word for word in words if not word.startswith("-")), None)
    if target is None or "-c" in words[:2]:
        return
    module = target.rpartition("/")[2]
    if module.partition(".")[0] in ("pytest", "unittest"):
        yield "test"
    elif module in ("pip", "venv"):
        yield "install"
    elif _TRAIN_WORD.search(target):
        yield "train"
