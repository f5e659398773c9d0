"""The `replay` judge, for prose: would the patch have named what failed in sessions that came later?

It compares the section as it is with the section as the patch leaves it, on failures of later sessions in
which the skill was followed; what made the patch never counts. Naming a failure is not preventing it. So a
person decides whatever it measures; it only rejects what it cannot trust, and what names less than before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from agent_evo_dagster.evaluation.intervals import CONFIDENCE, change_interval
from agent_evo_dagster.evaluation.regressions import ALPHA
from agent_evo_dagster.patches.change import patched_text
from agent_evo_dagster.patches.evidence import Cost, GateEvidence, Measured, ReplayFacts, TaskComparison
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.naming import Trouble, named_troubles
from agent_evo_dagster.patches.types import GateVerdict

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class LaterSession:
    """One session: for each call that failed while the skill was followed, the troubles it is evidence of."""

    session: str
    failures: tuple[frozenset[Trouble], ...]


@dataclass(frozen=True, slots=True)
class Material:
    """What a patch is replayed on."""

    made_in: str
    own: frozenset[str]  # sessions of the round that made the patch, and of those before
    rounds: tuple[str, ...] = ()
    sessions: tuple[LaterSession, ...] = ()

    def failures(self) -> tuple[Trouble, ...]:
        """What failed in sessions that can judge the patch, once for each time; none where they cannot."""
        if _doubts(self):
            return ()
        return tuple(trouble for one in self.sessions for seen in one.failures for trouble in sorted(seen))


@dataclass(frozen=True, slots=True)
class Replay:
    """Judges patches that change more than settings, each on its own material, by patch id."""

    materials: Mapping[str, Material] = field(default_factory=dict)
    name: str = "replay"

    def takes(self, case: Case) -> bool:
        """Prose that there is material for, be it empty."""
        return case.settings is None and case.patch.id in self.materials

    def judge(self, case: Case) -> GateEvidence:
        """The evidence; a session that made the patch, among those that judge it, makes it unverified."""
        material = self.materials[case.patch.id]
        troubles = {one for session in material.sessions for seen in session.failures for one in seen}
        before = named_troubles(case.base, troubles)
        after = named_troubles(patched_text(case.base, case.patch), troubles)
        failed = [one for one in material.sessions if one.failures]
        doubts = _doubts(material)
        measured = None if doubts or not failed else _measure(failed, before, after)
        verdict, reason = _verdict(material, doubts, measured)
        return GateEvidence(
            patch_id=case.patch.id,
            judge="replay",
            acceptance="coverage",
            verdict=verdict,
            reason=reason,
            settings={},
            split="later_sessions",
            facts=None,
            problems=tuple(doubts),
            measured=measured,
            cost=Cost(),
            replay=ReplayFacts(
                made_in=material.made_in,
                rounds=material.rounds,
                sessions=len(material.sessions),
                failures=sum(len(one.failures) for one in failed),
                named_before=sum(_named(one, before) for one in failed),
                named_after=sum(_named(one, after) for one in failed),
            ),
        )


def _doubts(material: Material) -> list[str]:
    """Why the sessions cannot judge the patch."""
    names = [one.session for one in material.sessions]
    own = sorted(set(names) & material.own)
    found = []
    if own:
        found.append(f"{len(own)} sessions were there when it was made: {', '.join(own[:_SHOWN])}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        found.append(f"{len(twice)} sessions are given twice: {', '.join(twice[:_SHOWN])}")
    return found


def _named(session: LaterSession, named: frozenset[Trouble]) -> int:
    return sum(bool(seen & named) for seen in session.failures)


def _measure(
    sessions: Sequence[LaterSession], before: frozenset[Trouble], after: frozenset[Trouble]
) -> Measured:
    """The share of failures that is named, paired by session."""
    tasks = tuple(_compare(one, before, after) for one in sorted(sessions, key=lambda one: one.session))
    interval = change_interval([one.candidate - one.baseline for one in tasks])
    baseline, candidate = (fmean(getattr(one, side) for one in tasks) for side in ("baseline", "candidate"))
    return Measured(
        n=interval.n,
        baseline=baseline,
        candidate=candidate,
        difference=interval.mean,
        low=interval.low,
        high=interval.high,
        confidence=CONFIDENCE,
        baseline_accuracy=baseline,
        candidate_accuracy=candidate,
        regressions={one.task_id: 0.0 for one in tasks if one.candidate < one.baseline},  # counted: no noise
        alpha=ALPHA,
        by_seed=(),
        tasks=tasks,
    )


def _compare(session: LaterSession, before: frozenset[Trouble], after: frozenset[Trouble]) -> TaskComparison:
    shares = [_named(session, named) / len(session.failures) for named in (before, after)]
    return TaskComparison(
        task_id=session.session,
        rollouts=len(session.failures),
        baseline=shares[0],
        candidate=shares[1],
        baseline_accuracy=shares[0],
        candidate_accuracy=shares[1],
    )


def _verdict(material: Material, doubts: Sequence[str], measured: Measured | None) -> tuple[GateVerdict, str]:
    if doubts:
        return GateVerdict.REJECT_UNVERIFIED, "; ".join(doubts)
    if measured is None:
        return GateVerdict.NEEDS_PERSON, _nothing_to_replay(material)
    shown = (
        f"failures named {measured.baseline:.3f} -> {measured.candidate:.3f} in {measured.n} later sessions, "
        f"difference {measured.difference:+.3f} [{measured.low:+.3f}, {measured.high:+.3f}]"
    )
    if measured.high < 0:
        return GateVerdict.REJECT, f"it names fewer failures than the section does without it: {shown}"
    said = (
        "it names failures of later sessions" if measured.low > 0 else "no later session shows that it helps"
    )
    return GateVerdict.NEEDS_PERSON, f"{said}: {shown}. Naming is not preventing: read the diff and decide."


def _nothing_to_replay(material: Material) -> str:
    seen = f"{len(material.sessions)} sessions came after {material.made_in}" if material.sessions else ""
    what = (
        f"{seen}, none with a failure under its skill"
        if seen
        else f"no session came after {material.made_in}"
    )
    return f"it changes more than defaults of settings; {what} to replay it on. Read the diff and decide."
