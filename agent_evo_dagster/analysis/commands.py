"""Shell commands cut into the programs that they run, with their first words. Nothing is run or judged."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MAX_READ = 4000  # characters of a command that are looked at
_MAX_PARTS = 40
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w+['\"]?")
_PARTS = re.compile(r"&&|\|\||[;|&\n]")
_ASSIGNMENT = re.compile(r"\w+=\S*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_WRAPPERS = "sudo env time nohup exec command timeout then do done else fi until while !"
_PREFIXES = frozenset(_WRAPPERS.split())
_WORD = re.compile(r"[A-Za-z][\w.:-]*")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_HEAD = 3
_MOST_HEADS = 3


@dataclass(frozen=True, slots=True)
class Program:
    """One program that a command runs, by its bare name, and the words after it."""

    name: str
    words: tuple[str, ...]

    @property
    def head(self) -> str:
        """The program and its subcommands: the plain words before the first option, path or value."""
        plain = []
        for word in self.words[: _LONGEST_HEAD - 1]:
            if not _WORD.fullmatch(word):
                break
            plain.append(word)
        return " ".join((self.name, *plain))

    @property
    def seconds(self) -> float | None:
        """How long it sleeps, where it is `sleep` with a number."""
        if self.name != "sleep" or not self.words or not _NUMBER.fullmatch(self.words[0]):
            return None
        digits = self.words[0].rstrip("smhd")
        return float(digits) * _SECONDS[self.words[0][len(digits) :]]


def programs(command: str) -> list[Program]:
    """The programs of a command line or script, in order, without wrappers such as `sudo` or `timeout 60`."""
    text = command[:_MAX_READ]
    heredoc = _HEREDOC.search(text)  # what follows is input, not commands
    parts = _PARTS.split(text[: heredoc.start()] if heredoc else text)[:_MAX_PARTS]
    return list(_programs(parts))


def head_of(command: str | None) -> str:
    """The first programs that a command runs, each with its subcommands; empty where there is none."""
    found = dict.fromkeys(program.head for program in programs(command or ""))
    return " | ".join(list(found)[:_MOST_HEADS])


def starts_with(program: Program, head: str) -> bool:
    """Whether the program is called as `head` says: the same name, and its words among the first."""
    name, *words = head.split() or [""]  # a command of quotes alone has no name that a program could have
    return program.name == name and list(program.words[: len(words)]) == words


def _programs(parts: Sequence[str]) -> Iterator[Program]:
    for part in parts:
        words = part.replace("(", " ").replace(")", " ").split()
        while words and _passed_over(words[0]):
            words = words[1:]
        if words:
            yield Program(words[0].strip("'\"`").rpartition("/")[2], tuple(words[1:]))


def _passed_over(word: str) -> bool:
    return word in _PREFIXES or bool(_ASSIGNMENT.fullmatch(word) or _NUMBER.fullmatch(word))
