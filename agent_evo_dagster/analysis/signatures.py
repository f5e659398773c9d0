"""Normal forms of errors and of tool inputs, so that equal troubles are counted as one. Never an outcome."""

import json
import math
import re

from agent_evo_dagster.analysis.findings import Json, canonical_json

MAX_READ = 4000  # characters of an error that are looked at
MAX_SIGNATURE = 160
MAX_INPUT = 2000

# Tool inputs that say how a call is shown or awaited, not what it does.
_PRESENTATION = frozenset({"description", "timeout", "run_in_background"})

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_REPLACEMENTS = (
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"https?://[^\s'\"<>]+"), "<url>"),
    (re.compile(r"(?<![\w<])(?:~|\.{1,2})?(?:/[\w.@+\-]+)+/?"), "<path>"),
    (re.compile(r"\b[A-Za-z]:\\[^\s'\"]+"), "<path>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<hash>"),
    (re.compile(r"\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}\b"), "<hash>"),
    (re.compile(r"(?<![0-9])(?<!Exit code )[0-9]+(?:[.,:][0-9]+)*(?:e[+-]?[0-9]+)?"), "<n>"),
)
_EXIT_CODE = re.compile(r"Exit code [0-9]+")
# The line of a failed command's output that names the trouble better than its first line does.
_TELLING = re.compile(
    r"[\w.]*(?:Error|Exception|Interrupt)\b|fatal:|error:|.*: (?:No such file|command not found)"
)


def error_signature(error: str | None) -> str:
    """One bounded line for the kind of an error: paths, numbers, hashes and addresses are replaced.

    The exit code, which Claude Code puts first, stays as it is, beside the last line that names an error.
    """
    text = (error or "")[:MAX_READ].replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    lines = [line.strip() for line in _ANSI.sub("", text).splitlines()]
    line = _CONTROL.sub(" ", " | ".join(_telling([line for line in lines if line])))
    for pattern, name in _REPLACEMENTS:
        line = pattern.sub(name, line)
    return line[:MAX_SIGNATURE].strip() or "(no message)"


def _telling(lines: list[str]) -> list[str]:
    if not lines or not _EXIT_CODE.fullmatch(lines[0]):
        return lines[:2] if lines and lines[0].endswith(":") else lines[:1]
    telling = [line for line in lines[1:] if _TELLING.match(line)] or lines[1:]
    return [lines[0], *telling[-1:]]


def normal_input(tool_input: str | None) -> str:
    """A tool's input without what does not change its effect: key order, space, description, time limit."""
    parsed = parse_json(tool_input)
    if not isinstance(parsed, dict):
        return " ".join((tool_input or "").split())[:MAX_INPUT]
    kept = {key: value for key, value in parsed.items() if key not in _PRESENTATION}
    if set(kept) == {"command"} and isinstance(kept["command"], str):
        return " ".join(kept["command"].split())[:MAX_INPUT]
    return canonical_json(kept)[:MAX_INPUT]


def parse_json(text: str | None) -> Json:
    """The value of JSON text; None where it is absent or is not JSON (session text is anything at all)."""
    try:
        return _clean(json.loads(text)) if text else None
    except (ValueError, RecursionError):
        return None


def _clean(value: Json) -> Json:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # an escaped lone surrogate is no text
    if isinstance(value, dict):
        return {str(_clean(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
