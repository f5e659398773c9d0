"""What a text gives an agent or a reader to reach or to run: links, commands, and code run on loading.

Found by form, not by meaning: a line in a shell block is a command, whatever it does. Prose that talks an
agent into something has no form; that is what the gate and people are for.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from agent_evo_dagster.patches.fences import scan

PowerKind = Literal["links", "commands", "run_on_load"]

_LINK = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|www\.|(?:mailto|javascript|data|file):)[^\s<>\"'`\])]+", re.IGNORECASE
)
_TARGET = re.compile(
    r"\]\(\s*<?([^\s()<>#][^\s()<>]*)"
    # A definition, on its own or in a list or a quotation.
    r"|^(?:[ >]|[-+*] |[0-9]{1,9}[.)] )*\[[^\]\n]+\]:\s*<?([^\s<>#][^\s<>]*)"
    r"|<[a-z][^<>]*?[\s/\"'](?:href|src|srcset|action|formaction|data|poster)\s*=\s*[\"']?([^\s\"'<>#][^\s\"'<>]*)",
    re.MULTILINE | re.IGNORECASE,
)
_SIGNS = ("`", ":", "](", "~~~", "www.", "<")  # a text without any of them has nothing to find
# The client runs such code when it loads the skill, before the agent reads it.
_ON_LOAD = re.compile(r"!`([^`\n]+)`")
_DECIDES = re.compile(r"\bpatches +(?:approve|reject|withdraw|merge|rebase|sync)\b(?: +\S+)?")
_SET_OFF = re.compile(r"[\s`*\\\"'|]+")  # between words of a command, or around them
_CODE = re.compile(r"(?<!!)(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_SHELLS = frozenset(
    {
        "",
        "bash",
        "sh",
        "shell",
        "zsh",
        "fish",
        "console",
        "shell-session",
        "shellsession",
        "terminal",
        "powershell",
        "ps1",
        "pwsh",
        "bat",
        "cmd",
        "dos",
        "!",
    }
)
# Within a line, code that begins with one of these is a command; anything else there may be a name.
_PROGRAMS = frozenset((
    "agent-evo", "apt", "apt-get", "awk", "base64", "bash", "brew", "cargo", "cat", "chmod", "chown",
    "claude", "conda", "cp", "crontab", "curl", "dagster", "dd", "doas", "docker", "env", "eval", "exec",
    "export", "find", "gh", "git", "go", "kill", "kubectl", "make", "mv", "nc", "ncat", "node", "nohup",
    "npm", "npx", "openssl", "perl", "pip", "pip3", "pipx", "pkill", "pnpm", "powershell", "python",
    "python3", "rm", "rsync", "ruby", "scp", "sed", "sh", "source", "ssh", "sudo", "systemctl", "tar",
    "tee", "torchrun", "uv", "uvx", "wget", "xargs", "yarn", "zsh",
))  # fmt: skip


@dataclass(frozen=True, order=True)
class Power:
    """One thing to reach or to run, as it is written."""

    kind: PowerKind
    text: str


def powers_of(text: str) -> frozenset[Power]:
    """All links and commands in a Markdown text."""
    if not any(sign in text for sign in _SIGNS):
        return frozenset()
    found = {Power("links", link.group().rstrip(".,;:!?")) for link in _LINK.finditer(text)}
    found |= {Power("links", target[target.lastindex or 0]) for target in _TARGET.finditer(text)}
    found |= {Power("run_on_load", code[1].strip()) for code in _ON_LOAD.finditer(text)}
    for line in scan(text):
        if line.part == "code":
            found |= _in_block(line.text, line.info)
        elif line.part == "text":
            codes = [code[2].strip() for code in _CODE.finditer(line.text)]
            found |= {Power("commands", code) for code in codes if _is_command(code)}
    return frozenset(found)


def deciding(text: str) -> frozenset[str]:
    """The commands that decide on patches, each with the word after it, in code or in plain words.

    Whoever is to decide reads a patch beside such commands of ours, and could take its own for one of them.
    """
    plain = _SET_OFF.sub(" ", unicodedata.normalize("NFKC", text)).casefold()
    return frozenset(" ".join(found.split()) for found in _DECIDES.findall(plain))


def _in_block(text: str, info: str) -> set[Power]:
    """The command on a line of a fenced block, where the block is one of commands."""
    language = info.split(maxsplit=1)[0].strip("{}.").casefold() if info else ""
    command = text.strip()
    if language == "!" and command:
        return {Power("run_on_load", command)}
    if language not in _SHELLS or not command or command.startswith(("#", "<!--")):
        return set()
    return {Power("commands", command.removeprefix("$ "))}


def _is_command(code: str) -> bool:
    """Whether code within a line is a command with its arguments."""
    words = code.split()
    return len(words) > 1 and words[0].rpartition("/")[2] in _PROGRAMS
