"""Whoever does a round's work is recorded as it tells itself, and where it fails none takes its place."""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from agent_evo_dagster.cli.operating import chosen_operator
from agent_evo_dagster.errors import ClientError, GateError
from agent_evo_dagster.operators.types import Assignment, OperatorRun
from agent_evo_dagster.patches.acceptance.improvement import Improvement
from agent_evo_dagster.patches.evidence import GateEvidence
from agent_evo_dagster.rounds.costs import analyst_spent
from agent_evo_dagster.rounds.opening import RoundRequest
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from resources.rollouts import RolloutJudgeResource
from resources.trainer import TrainerResource
from tests.agent_evo_dagster.analysts import fake_judges as judges
from tests.agent_evo_dagster.analysts.fake_judges import FakeJudge, answered
from tests.agent_evo_dagster.analysts.fake_models import FakeModels, serving
from tests.agent_evo_dagster.rollouts.material import Scripted, written
from tests.assets.graph import Graph, failures, fake_graph, only_round
from tests.assets.test_analysts import drafted

ANSWERED_BY = "m-of-today"  # as a service calls the model that is asked for as m


class Renamed(FakeJudge):
    """A judge that is asked for by one name and tells another."""

    def reply(self, path, body):
        status, content, headers = super().reply(path, body)
        return status, {**content, "model": ANSWERED_BY}, headers


@dataclass(frozen=True)
class Prose:
    """A round whose only patch was drafted by a model, and what was shown of that."""

    graph: Graph
    key: str
    shown: dict[str, object]

    def judged_by(self, *names: str, **options: object) -> Graph:
        settings = Settings(home=self.graph.settings.home, policy="manual", judges=names, **options)
        return replace(self.graph, settings=settings)


def shown(result, asset: str) -> dict[str, object]:
    (made,) = result.asset_materializations_for_node(asset)
    return {name: value.value for name, value in made.metadata.items()}


def asking(url: str, who: str) -> dict[str, object]:
    return {f"{who}_model": "m", f"{who}_url": f"{url}/v1", f"{who}_key_env": "none"}


@pytest.fixture(scope="module")
def prose(finished, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prose]:
    home = shutil.copytree(finished, tmp_path_factory.mktemp("what-ran") / "home")
    with fake_graph(home, policy="manual") as graph:
        key = only_round(graph)
        answer = answered("openai", drafted(graph, key), model=ANSWERED_BY)
        with serving(FakeModels(answer)) as url:
            settings = Settings(home=home, policy="manual", analyst="openai", **asking(url, "analyst"))
            result = replace(graph, settings=settings).run(key, select=["skill_patches"])
        assert result.success, failures(result)
        yield Prose(graph, key, shown(result, "skill_patches"))


def refused(graph: Graph, key: str, asset: str, **options: object) -> str:
    """Why an asset fails; what it stored before is still there."""
    before = graph.frame(asset, key)
    result = graph.run(key, select=[asset], **options)
    assert graph.frame(asset, key).equals(before)
    return failures(result)[asset]


def test_an_analyst_is_recorded_with_the_model_that_it_was_and_no_other_drafts_in_its_place(prose):
    assert prose.shown["analyst"] == "openai"
    assert (prose.shown["analyst_model"], prose.shown["analyst_answered_by"]) == ("m", ANSWERED_BY)
    kept = analyst_spent(RoundStore(prose.graph.settings.rounds), prose.key)
    assert (kept.analyst, kept.model, kept.calls) == ("openai", ANSWERED_BY, 1)
    assert kept.tokens == prose.shown["analyst_tokens"] > 0
    with serving(FakeModels((403, {}, {}))) as url:
        home = prose.graph.settings.home
        settings = Settings(home=home, policy="manual", analyst="anthropic", **asking(url, "analyst"))
        said = refused(replace(prose.graph, settings=settings), prose.key, "skill_patches")
    assert "answered with status 403" in said


def test_a_judge_is_recorded_with_the_model_that_it_was(prose):
    with serving(Renamed(judges.good)) as url:
        graph = prose.judged_by("llm", judge_service="openai", judge_samples=2, **asking(url, "judge"))
        result = graph.run(prose.key, select=["patch_evaluation"])
    told = shown(result, "patch_evaluation")
    assert (told["judge_llm_engine"], told["judge_llm_model"]) == ("openai", ANSWERED_BY)
    (row,) = graph.frame("patch_evaluation", prose.key).iter_rows(named=True)
    evidence = GateEvidence.model_validate_json(row["evidence"])
    assert (row["judge"], evidence.acceptance) == ("llm", "preference")
    assert (evidence.llm.service, evidence.llm.model) == ("openai", ANSWERED_BY)


def test_a_judge_that_fails_is_not_replaced_by_the_next(prose, monkeypatch, tmp_path):
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(tmp_path))
        llm = prose.judged_by("llm", judge_service="claude_code")  # replay would take the patch as well
        assert "no program 'claude' is on PATH" in refused(llm, prose.key, "patch_evaluation")

    def lost(*_: object) -> object:
        raise GateError("every rollout is lost")

    written(prose.graph.settings.tasks, "rllm-run")
    monkeypatch.setattr(RolloutJudgeResource, "_reader", lambda _: Scripted(lost))
    with serving(FakeJudge(judges.good)) as url:  # llm could be asked, and would take it
        both = prose.judged_by("rollout", "llm", judge_service="openai", **asking(url, "judge"))
        assert "every rollout is lost" in refused(both, prose.key, "patch_evaluation")


def test_the_rule_that_turned_numbers_into_a_verdict_is_recorded_and_none_stands_in(
    finished, tmp_path, monkeypatch
):
    with fake_graph(shutil.copytree(finished, tmp_path / "home"), policy="manual") as graph:
        key = only_round(graph)
        (evidence,) = graph.frame("patch_evaluation", key)["evidence"]
        read = GateEvidence.model_validate_json(evidence)
        assert (read.judge, read.acceptance) == ("probe", Improvement().name)

        def broken(*_: object) -> object:
            raise GateError("the rule is broken")

        monkeypatch.setattr(Improvement, "verdict", broken)
        assert "the rule is broken" in refused(graph, key, "patch_evaluation")


WORKER = """#!{python}
import json, pathlib, sys
run = pathlib.Path(json.loads(pathlib.Path(sys.argv[-1]).read_text())["run_dir"])
(run / "result.json").write_text(json.dumps({{
    "job": "train", "backends": {told}, "steps": 2, "init_sha256": "0", "checkpoint_sha256": "1",
    "packages": {{}}, "peak_memory_bytes": 1, "wall_seconds": 1, "cpu_seconds": 1}}))
"""


def test_a_backend_is_recorded_as_the_worker_tells_it_and_another_than_asked_is_refused(finished, tmp_path):
    def worker(*told: str) -> TrainerResource:
        script = tmp_path / "python"
        script.write_text(WORKER.format(python=sys.executable, told=json.dumps(told)))
        script.chmod(0o755)
        return TrainerResource(python=str(script))

    with fake_graph(shutil.copytree(finished, tmp_path / "home"), policy="manual") as graph:
        key = only_round(graph)
        run = graph.settings.runs / key / "train"
        before = sorted(path.name for path in run.iterdir())
        said = refused(graph, key, "training_run", trainer=worker("verl"))
        assert "was asked to train with hf, and says that verl trained" in said
        assert sorted(path.name for path in run.iterdir()) == before
        result = graph.run(key, select=["training_run"], trainer=worker("hf"))
        assert shown(result, "training_run")["backend"] == "hf"
        assert graph.frame("training_run", key)["backend"].to_list() == ["hf"]


def test_an_operator_is_recorded_with_what_answered_and_nobody_works_in_its_place(
    prose, tmp_path, monkeypatch
):
    graph = prose.graph
    result = graph.run(prose.key, select=["round_status"])
    assert shown(result, "round_status")["operator"] == "direct"
    run = OperatorRun(
        session_id="5e55", client="2.1.197 (Claude Code)", models=(ANSWERED_BY,), outcome="success",
        exit_code=0, turns=7, cost_usd=0.25, tokens=60, seconds=3.5,
    )  # fmt: skip
    manifest = graph.open(RoundRequest(operated=run))
    assert (manifest.operator, manifest.operated.models) == ("claude_code", (ANSWERED_BY,))
    monkeypatch.setenv("PATH", str(tmp_path))
    asked = Assignment("", graph.bank, graph.settings.spool, tmp_path / "records")
    with pytest.raises(ClientError, match="no program 'claude' is on PATH"):
        chosen_operator("claude_code", [], graph.settings).operate(asked)
    assert list(tmp_path.iterdir()) == []
