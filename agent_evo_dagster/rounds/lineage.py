"""The lineage of a round as edges, followed both ways.

checkpoint <- rollouts <- run <- config <- skill, bank; skill <- patch <- finding <- segment <- event, or run.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

LINEAGE_SCHEMA = pl.Schema(
    {
        "child_kind": pl.String,
        "child": pl.String,
        "parent_kind": pl.String,
        "parent": pl.String,
    }
)
_Edge = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class RoundFrames:
    """The frames of one round that lineage is read from."""

    segments: pl.DataFrame
    findings: pl.DataFrame
    patches: pl.DataFrame
    decisions: pl.DataFrame
    training_run: pl.DataFrame
    training_config: pl.DataFrame
    skills: pl.DataFrame  # columns group, name, sha256, patches: as the round left them
    skills_read: Mapping[str, str]  # name -> sha256, as the round read them


def lineage_edges(key: str, bank_hash: str, frames: RoundFrames) -> pl.DataFrame:
    """All edges of the round, sorted: equal rounds give equal bytes."""
    edges = sorted(set(_edges(key, bank_hash, frames)))
    return pl.DataFrame(edges, schema=LINEAGE_SCHEMA, orient="row")


def ancestors(edges: pl.DataFrame, node: str) -> list[tuple[str, str]]:
    """(kind, id) of everything that `node` comes from, nearest first."""
    return _walk(edges.select("child", "parent_kind", "parent").iter_rows(), node)


def descendants(edges: pl.DataFrame, node: str) -> list[tuple[str, str]]:
    """(kind, id) of everything that comes from `node`, nearest first."""
    return _walk(edges.select("parent", "child_kind", "child").iter_rows(), node)


def _walk(arrows: Iterable[tuple[str, str, str]], start: str) -> list[tuple[str, str]]:
    ahead: dict[str, list[tuple[str, str]]] = {}
    for origin, kind, target in arrows:
        ahead.setdefault(origin, []).append((kind, target))
    seen, queue, found = {start}, [start], []
    while queue:
        for kind, target in ahead.get(queue.pop(0), []):
            if target not in seen:
                seen.add(target)
                queue.append(target)
                found.append((kind, target))
    return found


def _edges(key: str, bank_hash: str, frames: RoundFrames) -> Iterator[_Edge]:
    for segment, events in frames.segments.select("segment_id", "event_ids").iter_rows():
        yield from (("segment", segment, "event", event) for event in events)
    known = set(frames.segments["segment_id"])
    for finding, origin, evidence in frames.findings.select("finding_id", "origin", "evidence").iter_rows():
        kinds = (("segment" if item in known else "evidence", item) for item in evidence)
        yield from (("finding", finding, kind, item) for kind, item in kinds)
        if origin == "training":
            yield from (("finding", finding, "run", run) for run in frames.training_run["run_id"])
    for patch, findings in frames.patches.select("patch_id", "findings").iter_rows():
        yield from (("patch", patch, "finding", finding) for finding in findings)
    for patch, record in frames.decisions.select("patch_id", "record_hash").iter_rows():
        if record is not None:
            yield ("decision", record, "patch", patch)
    for name, sha256, patches in frames.skills.select("name", "sha256", "patches").iter_rows():
        version = _version(name, sha256)
        yield ("skill", version, "bank", bank_hash)
        yield from (("skill", version, "patch", patch) for patch in patches)
    yield from _config_edges(bank_hash, frames)
    yield from _run_edges(key, frames.training_run)


def _config_edges(bank_hash: str, frames: RoundFrames) -> Iterator[_Edge]:
    """The configuration comes from the skills whose settings it has, as the round read them."""
    rows = frames.training_config.filter(pl.col("source") == "skill")
    givers = sorted({origin.split("/")[0] for origin in rows["origin"]})
    for config in frames.training_run["config_sha256"]:
        yield ("config", config, "bank", bank_hash)
        for name in givers:
            version = _version(name, frames.skills_read[name])
            yield ("config", config, "skill", version)
            yield ("skill", version, "bank", bank_hash)


def _version(name: str, sha256: str) -> str:
    return f"{name}@{sha256[:16]}"


def _run_edges(key: str, training_run: pl.DataFrame) -> Iterator[_Edge]:
    for run_id, config, checkpoint, init in training_run.select(
        "run_id", "config_sha256", "checkpoint_sha256", "init_sha256"
    ).iter_rows():
        yield ("rollouts", f"{key}/rollouts", "run", run_id)
        yield ("run", run_id, "config", config)
        yield ("run", run_id, "checkpoint", init)
        if checkpoint is not None:
            yield ("checkpoint", checkpoint, "rollouts", f"{key}/rollouts")
