"""Lineage archives: made on demand from a range of rounds, and no part of any round."""

from collections.abc import Iterator

import dagster as dg
import polars as pl
from pydantic import Field

from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.rounds.archive import archive_rounds, parse_rounds, read_about
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.packages.frozen import INDEX, Frozen
from assets.packages import GROUP
from assets.presentation import OWNER, Metadata, numbers, table
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource

lineage_archive = dg.AssetSpec(
    "lineage_archive",
    group_name=GROUP,
    owners=[OWNER],
    kinds={"parquet", "json"},
    deps=["round_status", "round_lineage"],
    description="What a range of rounds saw, proposed and decided, frozen; made by the job archive_rounds.",
)


class ArchiveConfig(dg.Config):
    """Which rounds go into which archive."""

    name: str = Field(description="Name of the archive; it becomes lineage-archive/NAME.")
    rounds: str = Field(description="Numbers such as 1,2,5 or a range such as 1-5.")


@dg.op(out=dg.Out(dg.Nothing), description="Freeze a range of finished rounds as one lineage archive.")
def freeze_rounds(
    rounds: RoundsResource, skill_bank: SkillBankResource, config: ArchiveConfig
) -> Iterator[dg.AssetMaterialization | dg.Output[None]]:
    """Make the archive and tell of it."""
    settings = Settings(home=rounds.path(), bank=skill_bank.living().path)
    frozen = archive_rounds(settings, config.name, parse_rounds(config.rounds))
    yield dg.AssetMaterialization(
        lineage_archive.key,
        metadata=told(frozen),
        tags={"dagster/data_version": sha256_file(frozen.path / INDEX)},
    )
    yield dg.Output(None)


def told(frozen: Frozen) -> Metadata:
    """What a reader of an archive asks first: its rounds, what was decided in each, and where it is."""
    about = read_about(frozen.path)
    rows = [
        (
            key,
            item.events,
            item.accuracy_before,
            item.accuracy_after,
            ", ".join(f"{patch}: {verdict}" for patch, verdict in item.decisions.items()) or "no patch",
        )
        for key, item in about.rounds.items()
    ]
    columns = {
        "round": pl.String,
        "events": pl.Int64,
        "accuracy_before": pl.Float64,
        "accuracy_after": pl.Float64,
        "decisions": pl.String,
    }
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return {
        **numbers({"rounds": frame.height, "events": int(frame["events"].sum()), "records": about.records}),
        **numbers({"files": len(frozen.package.files)}),
        "contents": table(frame, frame.columns, limit=500),
        "folder": dg.MetadataValue.path(frozen.path),
        "verify": dg.MetadataValue.md(f"`agent-evo lineage verify lineage-archive/{frozen.path.name}`"),
    }
