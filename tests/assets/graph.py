"""The whole graph on a home of its own, as tests drive it: open a round, run a job, read what it stored."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import polars as pl

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.definitions import TEMPLATE, build_defs
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.review import Review, reviews
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.settings import ApprovalPolicy, Settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.warehouse import Warehouse
from tests.assets.fake_trainer import FakeTrainer

ROOT = Path(__file__).parents[2]
ROUNDS = "evolution_rounds"
QUIET = {"loggers": {"console": {"config": {}}}}


@dataclass(frozen=True)
class Graph:
    """Definitions of one home with an instance that lives in memory."""

    settings: Settings
    instance: dg.DagsterInstance
    trainer: object = None  # None: the real one

    def open(self, ask: RoundRequest | None = None) -> RoundManifest:
        """Open a round and register it, as `agent-evo rounds open` does."""
        manifest = open_round(self.settings, TEMPLATE, ask or RoundRequest())
        self.instance.add_dynamic_partitions(ROUNDS, [manifest.key])
        return manifest

    def run(
        self,
        key: str,
        job: str = "evolution_round",
        *,
        select: list[str] | None = None,
        config: Mapping[str, object] | None = None,
        trainer: object = None,
    ) -> dg.ExecuteInProcessResult:
        """Run a job, or some of its assets; a failure is in the result."""
        chosen = trainer or self.trainer
        overrides = {"trainer": chosen} if chosen else None
        keys = [dg.AssetKey.from_user_string(name) for name in select] if select else None
        return (
            build_defs(self.settings, overrides)
            .resolve_job_def(job)
            .execute_in_process(
                instance=self.instance,
                partition_key=key,
                run_config={**QUIET, **(config or {})},
                asset_selection=keys,
                raise_on_error=False,
            )
        )

    def round(self, ask: RoundRequest | None = None, **options: object) -> RoundManifest:
        """Open a round and run it to its end."""
        manifest = self.open(ask)
        result = self.run(manifest.key, **options)
        assert result.success, failures(result)
        return manifest

    def frame(self, asset: str, key: str) -> pl.DataFrame:
        """What an asset stored."""
        return self.warehouse.read(asset.split("/"), key)

    def setting(self, key: str, name: str) -> str:
        """A value of a round's training configuration, as JSON text."""
        return self.frame("training_config", key).filter(pl.col("name") == name)["value"][0]

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse(self.settings.warehouse)

    @property
    def bank(self) -> SkillBank:
        return SkillBank.open(self.settings.bank_path)

    @property
    def ledger(self) -> Ledger:
        return ledger_of(self.settings.bank_path)

    def reviews(self) -> list[Review]:
        """Every patch with evidence and decision."""
        return reviews(self.warehouse, self.ledger)

    def skill(self, name: str) -> Path:
        """The compiled file of a skill."""
        return self.bank.project / self.bank.ref(name).output


@contextmanager
def graph_at(
    home: Path, *, policy: ApprovalPolicy = "auto", trainer: object = None, sessions: bool = True
) -> Iterator[Graph]:
    """The graph on `home`, with the sample sessions captured."""
    settings = Settings(home=home, policy=policy)
    if sessions:
        import_sessions(ROOT / "samples", settings.spool)
    scratch = home.parent / "instance"
    scratch.mkdir(exist_ok=True)
    with dg.DagsterInstance.ephemeral(tempdir=str(scratch)) as instance:
        yield Graph(settings, instance, trainer)


@contextmanager
def fake_graph(
    home: Path, *, policy: ApprovalPolicy = "auto", sessions: bool = True, **trainer: object
) -> Iterator[Graph]:
    """The graph on `home` with a trainer that computes nothing."""
    with graph_at(home, policy=policy, trainer=FakeTrainer(**trainer), sessions=sessions) as graph:
        yield graph


def only_round(graph: Graph) -> str:
    """The key of the one round of a copied home, registered in the copy's instance."""
    (key,) = RoundStore(graph.settings.rounds).keys()
    graph.instance.add_dynamic_partitions(ROUNDS, [key])
    return key


def failures(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    """The message of each failed step."""
    found = {}
    for event in result.get_step_failure_events():
        error = event.step_failure_data.error
        cause = error.cause or error
        found[event.step_key] = cause.message
    return found


def bytes_of(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    """Every file below `folder` by its name; locks are left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob(pattern))
        if path.is_file() and not path.name.endswith(".lock")
    }
