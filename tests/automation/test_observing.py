"""The bank in Dagster: seen without a click, and what was made from it stale once a person edits it."""

from pathlib import Path

import dagster as dg
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from agent_evo_dagster.definitions import TEMPLATE, build_defs
from automation.observing import BANK, observe_bank
from tests.assets.graph import Graph, fake_graph

COMPILED = dg.AssetKey(["skills", "rllm", "rllm-config"])


def observed(graph: Graph) -> str | None:
    return observe_bank(graph.instance, graph.settings, TEMPLATE)


def observations(graph: Graph) -> int:
    return len(graph.instance.fetch_observations(BANK, limit=10).records)


def edit(graph: Graph) -> None:
    base = next((graph.bank.path / "rllm").rglob("rllm-config/base.md"))
    base.write_text(base.read_text() + "\nA line of a person.\n")


def status(graph: Graph, key: dg.AssetKey, partition: str) -> StaleStatus:
    resolver = CachingStaleStatusResolver(
        graph.instance,
        build_defs(graph.settings).resolve_asset_graph(),
        LoadingContextForTest(graph.instance),
    )
    return resolver.get_status(key, partition)


def test_a_bank_is_recorded_once_for_each_content(tmp_path: Path) -> None:
    with fake_graph(tmp_path / "home") as graph:
        first = observed(graph)
        assert observed(graph) is None
        graph.open()  # the round makes the bank, a copy of the shipped one: the same content
        assert observed(graph) is None
        edit(graph)
        assert observed(graph) not in (None, first)
        assert observations(graph) == 2


def test_a_bank_that_does_not_open_is_not_recorded(tmp_path: Path) -> None:
    with fake_graph(tmp_path / "home") as graph:
        graph.open()
        (graph.bank.path / "bank.yaml").write_text("groups: [")
        assert observed(graph) is None
        assert observations(graph) == 0


def test_an_edit_by_hand_shows_what_was_made_from_the_bank_as_stale(tmp_path: Path) -> None:
    with fake_graph(tmp_path / "home", policy="manual") as graph:
        observed(graph)
        key = graph.round().key
        assert status(graph, COMPILED, key) is StaleStatus.FRESH
        edit(graph)
        observed(graph)
        assert status(graph, COMPILED, key) is StaleStatus.STALE
        assert status(graph, dg.AssetKey("training_config"), key) is StaleStatus.STALE
        assert status(graph, dg.AssetKey("trajectories"), key) is StaleStatus.FRESH
