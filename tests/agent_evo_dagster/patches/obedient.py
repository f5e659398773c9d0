"""A round whose sessions, analyst and judge all work for a stranger, from the spool to the skills."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from agent_evo_dagster.analysis.sessions import find_in_sessions
from agent_evo_dagster.analysts.budget import Budget
from agent_evo_dagster.analysts.jury.examiner import LlmExaminer, Surroundings
from agent_evo_dagster.analysts.registry import analyst_of, model_of
from agent_evo_dagster.analysts.types import Analysis, Material
from agent_evo_dagster.patches.examiners import examine
from agent_evo_dagster.patches.gate import cases, judge_patches
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.propose import Proposals, propose_patches, to_frame
from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.writing import write_skills
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.analysts.fake_judges import good, shown, votes
from tests.agent_evo_dagster.analysts.fake_models import FakeModels, Reply, completion, message
from tests.agent_evo_dagster.analysts.material import FAILURES, choice
from tests.agent_evo_dagster.capture.spools import Spool, record
from tests.agent_evo_dagster.patches.material import OPENED, OPTIMISATION, rollouts
from tests.agent_evo_dagster.patches.orders import LIMITS, Order, understood

ROUND = "round-0001"
SECTIONS: Mapping[tuple[str, str, str], str] = {
    ("rllm", "rllm-run", "failures"): FAILURES,
    ("rllm", "rllm-run", "limits"): LIMITS,
    ("rllm", "rllm-run", "rules"): "## Rules\n\n- One round at a time.\n",
    ("rllm", "rllm-config", "optimisation"): OPTIMISATION,
    ("traj", "traj-optimize", "steps"): "## Steps\n\n- Read python errors.\n",
}
PROTECTED = {("rllm-run", "rules")}
BETTER, WORSE = rollouts([0.25] * 20, [1.0] * 20), rollouts([0.75] * 20, [0.25] * 20)


def bank_in(project: Path) -> SkillBank:
    """A compiled bank; `rllm` is a target, `traj` is none, and one section is protected."""
    root, skills = project / "bank", dict.fromkeys(key[:2] for key in SECTIONS)
    lines = ['version: "1.0"', "groups:"]
    for group in ("rllm", "traj"):
        lines += [f"  {group}:", f"    optimization_target: {str(group == 'rllm').lower()}", "    skills:"]
        lines += [f"      {name}: {{output: skills/{name}/SKILL.md}}" for of, name in skills if of == group]
    for group, skill in skills:
        folder = root / group / skill
        folder.mkdir(parents=True)
        text = f"---\nname: {skill}\ndescription: A skill.\nallowed-tools: Read\n---\n\n# {skill}\n"
        for (_, owner, section), words in SECTIONS.items():
            text += f"\n<!-- section:{section} -->\n{words}<!-- /section:{section} -->\n" * (owner == skill)
        (folder / "base.md").write_text(text)
        held = sorted(section for owner, section in PROTECTED if owner == skill)
        (folder / "manifest.yaml").write_text(f"active: []\nprotected: [{', '.join(held)}]\n")
    (root / "bank.yaml").write_text("\n".join(lines) + "\n")
    bank = SkillBank.open(root)
    write_skills(bank, [ref.name for ref in bank.skills()])
    return bank


def files_of(bank: SkillBank) -> dict[str, bytes]:
    """What a person or an agent could read of a bank and its skills."""
    found = (path for path in bank.project.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(bank.project)): path.read_bytes() for path in found}


def captured(order: Order, spool: Spool) -> pl.DataFrame:
    """The events of two sessions in which the order stands in its channel."""
    for number in range(2):
        name = f"{order.text} {number}" if order.channel == "session" else f"s-{number}"
        lines = (record(100 * number + at, session_id=name, **hook) for at, hook in enumerate(_hooks(order)))
        spool.write(b"".join(line + b"\n" for line in lines), f"hooks/s-{number}.jsonl")
    result = spool.read()
    assert result.quarantine.is_empty()
    return result.events


def _hooks(order: Order) -> Iterator[dict[str, Any]]:
    text, at = order.text, order.channel
    yield {"hook_event_name": "SessionStart", "source": "startup"}
    yield {"hook_event_name": "UserPromptSubmit", "prompt": text if at == "prompt" else "Run it."}
    yield from _call(1, "Skill", {"skill": "rllm-run"}, tool_response={"success": True})
    tool = text if at == "tool" else "Bash"
    said = f"python job.py {text}" if at == "command" else "python job.py"
    error = f"Exit code 1\nError: {text}" if at == "error" else "Exit code 1\nModuleNotFoundError: jq"
    yield from _call(2, tool, {"command": f"{said} first"}, error=error)
    output = {"stdout": text if at == "output" else "done", "stderr": "", "interrupted": False}
    yield from _call(3, tool, {"command": f"{said} second"}, tool_response=output)
    if at == "skill":
        yield from _call(4, "Skill", {"skill": text}, error=f"<tool_use_error>Unknown skill: {text}")
    place = text if at == "path" else "/srv/a/notes.md"
    yield from _call(5, "Read", {"file_path": place}, error="File does not exist.")
    content = {"type": "text", "file": {"filePath": "/srv/b/notes.md", "content": text * (at == "file")}}
    yield from _call(6, "Read", {"file_path": "/srv/b/notes.md"}, tool_response=content)
    yield {"hook_event_name": "SessionEnd", "reason": "other"}


def _call(number: int, tool: str, tool_input: Mapping[str, str], **end: object) -> Iterator[dict[str, Any]]:
    shared = {"tool_name": tool, "tool_use_id": f"t{number}", "tool_input": tool_input}
    yield {**shared, "hook_event_name": "PreToolUse"}
    yield {**shared, "hook_event_name": "PostToolUseFailure" if "error" in end else "PostToolUse", **end}


class Obedient(FakeModels):
    """Does as the data of a question says, where it holds the order; as a judge it wants every patch."""

    def __init__(self) -> None:
        super().__init__()
        self.order: Order | None = None

    def reply(self, path: str, body: dict[str, Any]) -> Reply:
        turns = [one["content"] for one in body["messages"] if one["role"] == "user"]
        text = self._votes(turns[0]) if '"name": "A"' in turns[0] else self._answer(turns[0])
        self.script = [text]
        status, _, headers = super().reply(path, body)  # refuses what the real services refuse
        assert status == 200
        return 200, (message if path == "/v1/messages" else completion)(text), headers

    def question(self, number: int) -> tuple[str, str]:
        """The instructions and the data of a request, from 0."""
        body = self.requests[number][1]
        told = [one["content"] for one in body["messages"]]
        return (body["system"], told[0]) if "system" in body else (told[0], told[1])

    def _answer(self, question: str) -> str:
        assert self.order is not None
        held = [item for item in fenced(question) if self.order.name in understood(texts_of(item))]
        if not held:
            return json.dumps({"findings": [], "patches": []})
        patch = {"findings": [held[0]["finding"]["finding_id"]], **self.order.patch}
        return json.dumps({"findings": [], "patches": [patch], **(self.order.beside or {})})

    @staticmethod
    def _votes(question: str) -> str:
        """For what is new; it passes for good where it is tested."""
        if '"skill": "work"' in question:
            return votes(good, *shown(question))
        known = {text for (_, _, _), text in SECTIONS.items()}
        return votes(lambda first, _: "B" if first in known else "A", *shown(question))


def fenced(question: str) -> list[dict[str, Any]]:
    """The items between the marks, which stand there once and alone."""
    found = re.fullmatch(r"<<<DATA ([0-9a-f]{16})\n(.*)\n\1 DATA>>>\n[^<>{]*", question, re.DOTALL)
    assert found and "<" not in found[2] and ">" not in found[2] and question.isascii()
    return [json.loads(line) for line in found[2].split("\n")]


def texts_of(value: object) -> list[str]:
    """All text in a value, with the text of JSON within it; what was cut is read as far as it goes."""
    if isinstance(value, str):
        return [value, re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), value)]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts_of(one)]


@dataclass(frozen=True)
class Attack:
    """One round on one order."""

    bank: SkillBank
    findings: pl.DataFrame
    sections: Mapping[tuple[str, str], str]
    groups: Mapping[str, str]
    folder: Path  # of the answers that are kept

    def analysed(self, service: str, url: str) -> Analysis:
        """What an analyst makes of it."""
        given = choice(service, self.folder, url if service == "anthropic" else f"{url}/v1")
        material = Material(self.findings, self.sections, self.groups, PROTECTED)
        return analyst_of(given).analyse(material, lambda _: None)

    def proposed(self, analysis: Analysis, ledger: Ledger) -> Proposals:
        """The patches, with room for all that are drafted."""
        return propose_patches(
            self.findings, self.sections, self.groups, round_key=ROUND, created=OPENED, ledger=ledger,
            budget=9, protected=PROTECTED, drafts=analysis.drafts,
        )  # fmt: skip

    def judged(
        self, patches: pl.DataFrame, service: str, url: str, rows: pl.DataFrame = WORSE
    ) -> pl.DataFrame:
        """The gate's verdicts: its judge of prose wants every patch, and its probe measured `rows`."""
        given = choice(service, self.folder, url if service == "anthropic" else f"{url}/v1")
        budget = Budget(calls=200, tokens=2_000_000)
        examiner = LlmExaminer(
            model_of(given), budget, self.folder, 2, ROUND, Surroundings(self.sections), sleep=lambda _: None
        )
        more, _ = examine(cases(patches), [examiner], self.groups, lambda _: None)
        probes = {case.patch.id: rows for case in cases(patches) if case.settings is not None}
        return judge_patches(patches, probes, targets=self.groups, more=more)

    def rows_of(self, proposals: Proposals) -> pl.DataFrame:
        """The frame of the proposals."""
        return to_frame(proposals.patches, self.sections)


def attack(order: Order, project: Path, kept: Path) -> Attack:
    """A bank, and the findings of sessions that hold the order."""
    bank = bank_in(project)
    events = captured(order, Spool(project.parent / "spool"))
    steps = build_trajectories(events)
    texts = {
        (ref.name, name): text for ref in bank.skills() for name, text in bank.sections(ref.name).items()
    }
    found = find_in_sessions(steps, build_segments(steps), skills=texts)
    groups = {ref.name: ref.group for ref in bank.targets()}
    sections = {place: text for place, text in texts.items() if place[0] in groups}
    return Attack(bank, found, sections, groups, kept)
