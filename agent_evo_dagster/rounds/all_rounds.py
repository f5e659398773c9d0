"""What the page over all rounds is told: each round as far as it went, and the record of its patches."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import polars as pl

from agent_evo_dagster.analysis.all_rounds import AllRoundsInputs
from agent_evo_dagster.analysis.text import excerpt
from agent_evo_dagster.analysis.types import TREND_SCHEMA
from agent_evo_dagster.analysis.views.all_rounds import MOST_ROUNDS, RoundLine
from agent_evo_dagster.analysis.views.costs import CostLine
from agent_evo_dagster.analysis.views.gate import patch_views
from agent_evo_dagster.analysis.views.page import PatchView
from agent_evo_dagster.analysis.views.policy import Changes, changes_of, trend_rows
from agent_evo_dagster.errors import AnalysisError, EvaluationError, PatchError, RoundError
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.frames import with_result_hashes
from agent_evo_dagster.rounds.costs import COSTLY, analyst_spent, costs
from agent_evo_dagster.rounds.reporting import goes_on_from, whole_lives
from agent_evo_dagster.rounds.state import state_of
from agent_evo_dagster.rounds.status import last_reward, sessions_of
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.warehouse import Warehouse

_MOST_OF_A_FAILURE = 300  # characters
_GATE = ("skill_patches", "patch_evaluation", "patch_decisions")


def all_rounds_inputs(settings: Settings, folder: Path) -> AllRoundsInputs:
    """The inputs of a page in `folder`, from where its links lead to the reports.

    Raises:
        DecisionError: the record of decisions is not whole.
    """
    store, warehouse = RoundStore(settings.rounds), Warehouse(settings.warehouse)
    life = whole_lives(ledger_of(settings.bank_path), store, warehouse)
    reader = _Reader(settings, warehouse, folder, life)
    manifests = store.all()
    shown = {manifest.key for manifest in manifests[-MOST_ROUNDS:]}  # intervals take time
    scores = [reader.scores(one) if one.key in shown else _Scores() for one in manifests]
    rounds = [reader.line(*both) for both in zip(manifests, scores, strict=True)]
    trend = pl.concat([pl.DataFrame(schema=TREND_SCHEMA), *(one.trend for one in scores)])
    return AllRoundsInputs(rounds, trend, life)


@dataclass(frozen=True, slots=True)
class _Scores:
    """How good the policy of one round was; or nothing, and why."""

    trend: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TREND_SCHEMA))
    changes: Changes = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads rounds that may have come to their end or not; what is not stored yet is empty."""

    settings: Settings
    warehouse: Warehouse
    folder: Path
    life: pl.DataFrame

    def line(self, manifest: RoundManifest, scores: _Scores) -> RoundLine:
        """One round."""
        key = manifest.key
        config, metrics = self._frame("training_config", key), self._frame("training_metrics", key)
        patches, problem = self._patches(key)
        state = state_of(self.settings, key)
        failed = excerpt(state.told, _MOST_OF_A_FAILURE) if state.reason else ""
        lines, unread = self._costs(manifest)
        return RoundLine(
            key=key,
            opened_at=manifest.opened_at,
            status=state.word,
            sessions=len(sessions_of(manifest)),
            parent=manifest.parent.round if manifest.parent else None,
            starts_from=self._goes_on_from(manifest) or "base of its model",
            request=manifest.request,
            settings=dict(config.select("name", "value").iter_rows()) if config.width else {},
            steps=metrics["step"].n_unique() if metrics.width else 0,
            reward=last_reward(metrics) if metrics.width else None,
            changes=scores.changes,
            patches=patches,
            costs=lines,
            problem="; ".join(filter(None, (failed, scores.problem, problem, unread))),
            link=self._link(key),
        )

    def scores(self, manifest: RoundManifest) -> _Scores:
        """Its evaluation; one whose scores cannot be told hides no other round."""
        evaluation = self._frame("policy_evaluation", manifest.key)
        try:
            parent = self._goes_on_from(manifest)
            trend = trend_rows(manifest.key, manifest.number, evaluation, parent)
            return _Scores(trend, changes_of(evaluation))
        except EvaluationError as error:
            return _Scores(problem=f"its scores cannot be told: {error}")

    def _goes_on_from(self, manifest: RoundManifest) -> str | None:
        return goes_on_from(manifest, self._frame("training_run", manifest.key))

    def _costs(self, manifest: RoundManifest) -> tuple[tuple[CostLine, ...], str]:
        """What it took, once all of that is stored; or nothing, and why."""
        costly = {name: self._frame(name, manifest.key) for name in COSTLY}
        if not all(frame.width for frame in costly.values()):
            return (), ""
        try:
            spent = analyst_spent(RoundStore(self.settings.rounds), manifest.key)
        except RoundError as error:
            return (), f"its costs cannot be told: {error}"
        return costs(manifest, costly, spent), ""

    def _patches(self, key: str) -> tuple[tuple[PatchView, ...], str]:
        """What it proposed; or nothing, and why."""
        patches, judged, decided = (self._frame(name, key) for name in _GATE)
        try:
            made = with_result_hashes(patches) if patches.width else patches
            return patch_views(key, made, judged, decided, self.life), ""
        except (AnalysisError, PatchError) as error:
            return (), f"its patches cannot be told: {error}"

    def _frame(self, asset: str, key: str) -> pl.DataFrame:
        path = self.warehouse.path((asset,), key)
        return self.warehouse.read((asset,), key) if path.is_file() else pl.DataFrame()

    def _link(self, key: str) -> str:
        page = self.settings.reports / key / "report.html"
        return quote(Path(os.path.relpath(page, self.folder)).as_posix()) if page.is_file() else ""
