"""Skills and what was done of them: commands that never work, steps that nobody takes. Not other failures.

Both are read from the text that the skill had: shell blocks prescribe commands, and items of a numbered list
that name another skill prescribe steps. What is prescribed for some cases only looks like a step left out,
so that finding is a sign with little confidence.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.commands import Program, programs, starts_with
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.text import excerpt, plural, times
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions, Stretch

_BLOCK = re.compile(r"^ {0,3}```(?:sh|bash|shell|console)[^\n]*\n(.*?)^ {0,3}```", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^ {0,3}\d+[.)][ \t]+(.*)$", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|\s)#.*")
_MAX_COMMANDS = 60


@dataclass(frozen=True, slots=True)
class Prescribed:
    """A command that a section of a skill tells to run, by program and subcommands."""

    skill: str
    section: str
    head: str


@dataclass(frozen=True, slots=True)
class SkillCommandFails:
    """Prescribed commands that were run at least `minimum` times while the skill was followed, in vain."""

    name: str = "skill_command_fails"
    minimum: int = 2

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each prescribed command of which no run succeeded."""
        ran = _runs_by_skill(sessions.calls)
        found = []
        for one in prescribed(sessions.skills):
            runs = [call for program, call in ran.get(one.skill, ()) if starts_with(program, one.head)]
            failed = [call for call in runs if call.failed]
            if len(failed) >= self.minimum and not any(call.succeeded for call in runs):
                found.append(self._finding(one, failed))
        return found

    def _finding(self, one: Prescribed, calls: list[Call]) -> Finding:
        seen = sorted({call.session_id for call in calls})
        return make_finding(
            "session",
            self.name,
            severity=Severity.ERROR if len(seen) > 1 else Severity.WARNING,
            summary=f"`{excerpt(one.head, 80)}`, which {one.skill} prescribes, failed each time: "
            f"{times(len(calls))} in {plural(len(seen), 'session')} ({calls[-1].signature})",
            evidence=[item for call in calls for item in call.evidence],
            count=len(calls),
            confidence=1 - 0.5 * 0.7 ** (len(calls) - 1),
            data={
                "command": one.head,
                "input": excerpt(calls[-1].input, 300),
                "signatures": sorted({call.signature for call in calls}),
                "sessions": seen,
            },
            subject=(one.skill, one.head),
            skill=one.skill,
            section=one.section,
        )


@dataclass(frozen=True, slots=True)
class SkillStepSkipped:
    """Steps of a numbered list that name a skill, in skills followed in at least `minimum` sessions."""

    name: str = "skill_step_skipped"
    minimum: int = 3

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each step that none of those sessions took."""
        followed: dict[str, dict[str, list[Stretch]]] = defaultdict(lambda: defaultdict(list))
        for stretch in sessions.stretches:
            if stretch.skill:
                followed[stretch.skill][stretch.session_id].append(stretch)
        found = []
        for skill, section, step in _steps(sessions.skills):
            users, takers = followed.get(skill, {}), followed.get(step, {})
            if len(users) >= self.minimum and not users.keys() & takers.keys():
                found.append(self._finding(skill, section, step, users))
        return found

    def _finding(
        self, skill: str, section: str, step: str, users: Mapping[str, Sequence[Stretch]]
    ) -> Finding:
        return make_finding(
            "session",
            self.name,
            severity=Severity.INFO,
            summary=f"{skill} names the step {step}; of {len(users)} sessions that followed it, none took it",
            evidence=[stretch.segment_id for session in sorted(users) for stretch in users[session]],
            count=len(users),
            confidence=min(0.6, 0.1 * len(users)),
            data={"step": step, "sessions": sorted(users)},
            subject=(skill, step),
            skill=skill,
            section=section,
        )


def prescribed(skills: Mapping[tuple[str, str], str]) -> list[Prescribed]:
    """The commands of shell blocks, each once for its skill."""
    found: dict[tuple[str, str], Prescribed] = {}
    for (skill, section), text in skills.items():
        for block in _BLOCK.findall(text):
            lines = "\n".join(
                _COMMENT.sub("", line).strip().removeprefix("$ ") for line in block.splitlines()
            )
            for program in programs(lines)[:_MAX_COMMANDS]:
                found.setdefault((skill, program.head), Prescribed(skill, section, program.head))
    return list(found.values())


def _steps(skills: Mapping[tuple[str, str], str]) -> Iterator[tuple[str, str, str]]:
    """Skill, section and the other skill that an item of a numbered list names first."""
    names = sorted({skill for skill, _ in skills}, key=lambda name: (-len(name), name))
    for (skill, section), text in skills.items():
        for item in _ITEM.findall(text):
            step = next((name for name in names if f"`{name}`" in item and name != skill), None)
            if step is not None:
                yield skill, section, step


def _runs_by_skill(calls: Sequence[Call]) -> dict[str, list[tuple[Program, Call]]]:
    found: dict[str, list[tuple[Program, Call]]] = defaultdict(list)
    for call in calls:
        if call.skill and call.command:
            found[call.skill].extend((program, call) for program in programs(call.command))
    return found
