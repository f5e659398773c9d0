"""What patches of prose are replayed on: sessions of the rounds after the one that made them. No verdict.

Once made, a patch stays the same when later rounds propose it again: the first of them made it. Only rounds
up to the one that judges are looked at, so that judging it again gives the same.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from agent_evo_dagster.analysis.calls import Call, read_calls
from agent_evo_dagster.analysis.findings import subject_of
from agent_evo_dagster.patches.gate import cases, to_frame
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.naming import Trouble
from agent_evo_dagster.patches.replay import LaterSession, Material, Replay
from agent_evo_dagster.rounds.keys import is_round_key, round_number
from agent_evo_dagster.warehouse import Warehouse

_READ = ("trajectories", "segments", "session_findings")


@dataclass(frozen=True, slots=True)
class Replays:
    """The prose of all rounds up to `upto`, and the sessions to replay it on."""

    store: Warehouse
    upto: str

    def judge_of(self, patches: pl.DataFrame) -> Replay:
        """A judge with material for each patch of prose in a frame (PATCH_SCHEMA)."""
        made = self._made()
        prose = [case for case in cases(patches) if case.settings is None]
        return Replay({case.patch.id: self._material(case, made) for case in prose})

    def waiting(self, ledger: Ledger, before: datetime) -> pl.DataFrame:
        """Evidence (PATCH_EVALUATION_SCHEMA) on prose of earlier rounds that was undecided `before` then."""
        decided, found = ledger.verdicts(before=before), dict[str, Case]()
        for key in self._rounds("skill_patches"):
            if key != self.upto:
                found |= {case.patch.id: case for case in cases(self.store.read(["skill_patches"], key))}
        made = self._made()
        open_ = [case for name, case in found.items() if case.settings is None and name not in decided]
        judge = Replay({case.patch.id: self._material(case, made) for case in open_})
        return to_frame([judge.judge(case) for case in open_])

    def _made(self) -> dict[str, str]:
        """The round that first proposed each patch."""
        made: dict[str, str] = {}
        for key in self._rounds("skill_patches"):
            for name in self.store.read(["skill_patches"], key)["patch_id"]:
                made.setdefault(name, key)
        return made

    def _rounds(self, asset: str) -> list[str]:
        """Rounds up to `upto` that have `asset`, by number."""
        keys = [key for key in self.store.rounds([asset]) if is_round_key(key)]
        return sorted((key for key in keys if round_number(key) <= round_number(self.upto)), key=round_number)

    def _material(self, case: Case, made: Mapping[str, str]) -> Material:
        origin = made.get(case.patch.id, self.upto)
        seen = round_number(origin)
        keys = self._rounds("trajectories")
        own = frozenset(name for key in keys if round_number(key) <= seen for name in self._sessions(key))
        whole = set.intersection(*(set(self._rounds(asset)) for asset in _READ))
        later = [key for key in keys if round_number(key) > seen and key in whole]
        sessions: dict[str, LaterSession] = {}
        for key in later:
            frames = [self.store.read([asset], key) for asset in _READ]
            for one in later_sessions(*frames, skill=case.patch.skill):
                # A session that was there before goes on: what it shows now may be what made the patch.
                if one.session not in own:
                    known = sessions.get(one.session)
                    failures = one.failures if known is None else known.failures + one.failures
                    sessions[one.session] = LaterSession(one.session, failures)
        return Material(origin, own, tuple(later), tuple(sessions.values()))

    def _sessions(self, key: str) -> Collection[str]:
        steps = self.store.read(["trajectories"], key)
        return steps["session_id"].unique().to_list() if "session_id" in steps.columns else []


def later_sessions(
    steps: pl.DataFrame, segments: pl.DataFrame, findings: pl.DataFrame, *, skill: str
) -> list[LaterSession]:
    """The sessions of one round, with what failed in each while `skill` was followed."""
    troubles = _troubles(findings)
    failed: dict[str, list[frozenset[Trouble]]] = {
        name: [] for name in sorted(steps["session_id"].unique().to_list())
    }
    for call in read_calls(steps, segments):
        if call.failed and call.skill == skill:
            failed[call.session_id].append(_seen(call, troubles))
    return [LaterSession(name, tuple(failures)) for name, failures in failed.items()]


def _seen(call: Call, troubles: Mapping[str, set[Trouble]]) -> frozenset[Trouble]:
    """What the call is evidence of; at least its tool and error."""
    return frozenset(troubles.get(call.step_id, set())) | {(call.tool, call.signature)}


def _troubles(findings: pl.DataFrame) -> dict[str, set[Trouble]]:
    """The subjects of session findings, by the ids that are evidence of them."""
    found: dict[str, set[Trouble]] = {}
    rows = findings.filter(pl.col("origin") == "session")
    for kind, data, summary, evidence in rows.select("kind", "data", "summary", "evidence").iter_rows():
        if isinstance(json.loads(data).get("subject"), list):
            for item in evidence:
                found.setdefault(item, set()).add(subject_of(kind, data, summary)[1:])
    return found
