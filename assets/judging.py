"""The optional judges of a round: made from their names, and shown with what they took. No verdict."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import dagster as dg

from agent_evo_dagster.analysts.jury.examiner import Surroundings
from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.patches.examiners import Examiner, ExaminerRun
from agent_evo_dagster.patches.replay import Replay
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.bank import SkillBank
from assets.presentation import Metadata, numbers
from resources.judges import LlmJudgeResource
from resources.rollouts import RolloutJudgeResource


@dataclass(frozen=True, slots=True)
class Bench:
    """What a round offers to examiners."""

    names: Sequence[str]  # of the judges that are asked for
    llm: LlmJudgeResource
    rollout: RolloutJudgeResource
    manifest: RoundManifest
    bank: SkillBank  # as the round read it
    folder: Path  # of the round's own output
    replay: Replay  # with the later sessions of each patch


def _llm(bench: Bench) -> Examiner:
    """Shown the whole skill, and failures of sessions that came after the patch was made; of none before."""
    skills = {ref.name: bench.bank.sections(ref.name) for ref in bench.bank.targets()}
    sections = {(skill, name): text for skill, texts in skills.items() for name, text in texts.items()}
    failures = {patch: material.failures() for patch, material in bench.replay.materials.items()}
    return bench.llm.examiner(bench.manifest.key, Surroundings(sections, failures))


def _rollout(bench: Bench) -> Examiner:
    """Given the bank as the round read it, and the tasks that people wrote for its skills."""
    return bench.rollout.examiner(bench.bank, bench.manifest.key, bench.folder / "rollout-tasks")


# By name, in the order in which they are asked about prose.
MAKERS: Final[Mapping[str, Callable[[Bench], Examiner]]] = {"rollout": _rollout, "llm": _llm}


def examiners(bench: Bench) -> list[Examiner]:
    """The examiners that are asked for, in the order of `MAKERS`.

    Raises:
        SettingsError: a name that is none.
    """
    unknown = sorted(set(bench.names) - set(MAKERS))
    if unknown:
        raise SettingsError(
            f"AGENT_EVO_JUDGES names {', '.join(unknown)}; there are {', '.join(MAKERS) or 'none'} to choose."
        )
    return [make(bench) for name, make in MAKERS.items() if name in bench.names]


def ran(runs: Iterable[ExaminerRun]) -> Metadata:
    """What ran for each judge, under its name."""
    shown: Metadata = {}
    for run in runs:
        name = f"judge_{run.judge}"
        shown |= numbers({f"{name}_calls": run.calls, f"{name}_tokens": run.tokens})
        shown |= numbers({f"{name}_cost_usd": run.cost_usd, f"{name}_seconds": run.seconds})
        shown |= {
            f"{name}_engine": dg.MetadataValue.text(run.engine),
            f"{name}_model": dg.MetadataValue.text(run.model or "not told"),
            f"{name}_estimate": dg.MetadataValue.text(run.estimate),
        }
    return shown
