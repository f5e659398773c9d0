"""Which section of a skill a finding is about: the one that shares the most of its words. No edit.

The words are those of the finding's subject and examples, and those that its kind stands for. A word counts
less the more sections of the skill have it, and a section must share words worth `ENOUGH`. The reason names
the words, so that a person can see why.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from agent_evo_dagster.analysis.findings import aimed
from agent_evo_dagster.analysis.types import Finding
from agent_evo_dagster.analysis.view import Sessions

ENOUGH: Final = 1.0
_MOST_NAMED = 6
_MAX_TEXT = 6000  # characters of a finding's words
_WORDS = re.compile(r"[a-z][a-z0-9_]{2,}")
_ENDINGS = re.compile(r"(?:ures?|ings?|ed|es|s|e)$")
# Blocks that training reads: what sessions did is no matter of theirs.
_SETTINGS = re.compile(r"^ {0,3}```yaml\s*\n# agent-evo:settings\n.*?^ {0,3}```", re.MULTILINE | re.DOTALL)
_ABOUT = ("subject", "tool", "input", "command", "path", "examples", "step")
_COMMON_WORDS = """
the and for with not this that from are was has have before after what which into than then they will its
only all any one two use used path hash exit code line file_path command bash read edit input string uuid
url failed worked true false null none subject tool
"""
_COMMON = frozenset(_ENDINGS.sub("", word) for word in _COMMON_WORDS.split())
# What a section that speaks of such a trouble may call it.
_WORDS_OF_KIND: Final[Mapping[str, str]] = {
    "denied": "permission allow ask approve",
    "failure_recovery": "fails error retry again",
    "failure_signature": "fails error",
    "missing_file": "files folder missing",
    "polling": "watch wait poll loop pause sleep",
    "repeated_call": "loop again pause",
    "repeated_failure": "fails retry again error",
    "skill_command_fails": "fails error",
    "unknown_name": "skills tools",
    "wrong_folder": "files folder below",
}


def suggest(finding: Finding, sessions: Sessions) -> Finding:
    """The finding with the section that it points to, where it names a skill and one fits well enough."""
    sections = sessions.sections_of(finding.target_skill)
    if finding.target_section is not None or not sections or finding.kind == "effort":
        return finding
    wanted = _words(_text_of(finding))
    held = {name: _words(f"{name} {_SETTINGS.sub('', text)}") for name, text in sections.items()}
    known = {stem: sum(stem in words for words in held.values()) for stem in wanted}
    weights = {stem: 1 / sections_with for stem, sections_with in known.items() if sections_with}
    scores = {name: sum(weights.get(stem, 0.0) for stem in words) for name, words in held.items()}
    best = max(scores, key=lambda name: scores[name])  # the first of equals
    if scores[best] < ENOUGH:
        return finding
    shared = sorted(held[best].keys() & weights.keys(), key=lambda stem: (-weights[stem], stem))
    named = ", ".join(held[best][stem] for stem in shared[:_MOST_NAMED])
    return aimed(finding, best, f"shares {named} (score {scores[best]:.2f})")


def _text_of(finding: Finding) -> str:
    data = json.loads(finding.data)
    told = json.dumps([data[key] for key in _ABOUT if key in data], ensure_ascii=False)
    return f"{_WORDS_OF_KIND.get(finding.kind, '')} {told[:_MAX_TEXT]}"


def _words(text: str) -> dict[str, str]:
    """Each stem in a text, with the word that it first stands in."""
    found: dict[str, str] = {}
    for word in _WORDS.findall(text.lower()):
        stem = _ENDINGS.sub("", word)
        if len(stem) > 2 and stem not in _COMMON:
            found.setdefault(stem, word)
    return found
