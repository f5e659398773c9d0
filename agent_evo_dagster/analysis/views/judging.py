"""How a patch was judged, in words: what was compared with what, and what that took. No verdict."""

import json
from collections.abc import Mapping
from typing import Any

from agent_evo_dagster.analysis.text import number, plural

Evidence = Mapping[str, Any]


def compared(text: str) -> str:
    """What a judge compared, from its evidence (JSON text); empty where there is none."""
    evidence: Evidence = json.loads(text or "{}")
    for name, words in (("facts", _probe), ("rollout", _rollout), ("llm", _llm), ("replay", _replay)):
        if evidence.get(name):
            return words(evidence[name])
    return ""


def _probe(facts: Evidence) -> str:
    seeds = len(facts["seeds"])
    return (
        f"the settings without the patch and with it: for each of {plural(seeds, 'seed')}, two short "
        f"trainings of {plural(facts['steps'], 'step')} from the round's checkpoint, alike but for it; "
        f"then {plural(facts['tasks'], 'task')} that nothing else sees, "
        f"{plural(facts['samples'], 'sampled answer')} each, paired by task{_ended(facts)}"
    )


def _replay(facts: Evidence) -> str:
    if not facts["sessions"]:
        return f"nothing yet: no session came after {facts['made_in']}, which made it"
    return (
        f"which of {plural(facts['failures'], 'failure')} under this skill, in "
        f"{plural(facts['sessions'], 'session')} after {facts['made_in']}, the section names: "
        f"{facts['named_before']} as it is, {facts['named_after']} with the patch"
    )


def _rollout(facts: Evidence) -> str:
    model = f" ({facts['model']})" if facts["model"] else ""
    return (
        f"{facts['operator']}{model} following the skill as it is and with the patch: "
        f"{plural(facts['tasks'], 'task')}, {plural(facts['samples'], 'rollout')} each on each side, paired "
        f"by task{_ended(facts)}"
    )


def _llm(facts: Evidence) -> str:
    return (
        f"both texts, read by {facts['model'] or facts['service']} without knowing which is which, by "
        f"rubric {facts['rubric']}: {facts['asked']} of {plural(facts['samples'], 'comparison')}, each in "
        f"both orders; {facts['by_position']} of {plural(facts['votes'], 'vote')} followed the order"
        f"{_ended(facts)}"
    )


def _ended(facts: Evidence) -> str:
    return f"; ended early: {facts['stopped_early']}" if facts.get("stopped_early") else ""


def cost_of(text: str) -> str:
    """What a judgement took, from its evidence (JSON text); empty where it took nothing."""
    cost: Evidence = json.loads(text or "{}").get("cost") or {}
    named = {
        "rollouts": "scored rollout",
        "training_steps": "optimiser step",
        "tokens": "token",
        "calls": "call",
    }
    told = [
        f"{number(cost[name], 4)} {word}{'' if cost[name] == 1 else 's'}"
        for name, word in named.items()
        if cost.get(name)
    ]
    if cost.get("usd") is not None:
        told.append(f"{number(cost['usd'])} US dollars")
    return ", ".join(told)
