"""The shells around library objects: what Dagster configures reaches the object, and nothing else."""

from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.warehouse import WarehouseError
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource
from resources.spool import SpoolResource
from resources.warehouse import WarehouseIOManager, WarehouseResource

TEMPLATE = Path(__file__).parents[2] / "skill_bank"
FRAME = pl.DataFrame({"n": [1, 2]})


def output(key: str, partition: str = "round-0001") -> dg.OutputContext:
    return dg.build_output_context(asset_key=dg.AssetKey(key.split("/")), partition_key=partition)


def load(manager: WarehouseIOManager, key: str, partition: str = "round-0001") -> pl.DataFrame:
    asset = dg.AssetKey(key.split("/"))
    return manager.load_input(
        dg.build_input_context(
            asset_key=asset, partition_key=partition, upstream_output=output(key, partition)
        )
    )


def test_a_frame_is_stored_by_asset_and_round_and_read_back(tmp_path):
    manager = WarehouseIOManager(root=str(tmp_path))
    context = output("skills/rllm/rllm-run")
    manager.handle_output(context, FRAME)
    path = tmp_path / "skills/rllm/rllm-run/round-0001.parquet"
    assert context.get_logged_metadata()["rows"].value == 2
    assert context.get_logged_metadata()["path"].value == str(path)
    assert load(manager, "skills/rllm/rllm-run").equals(FRAME)
    assert (
        WarehouseResource(root=str(tmp_path))
        .store()
        .read(["skills", "rllm", "rllm-run"], "round-0001")
        .equals(FRAME)
    )


def test_rounds_do_not_share_a_file(tmp_path):
    manager = WarehouseIOManager(root=str(tmp_path))
    manager.handle_output(output("events"), FRAME)
    manager.handle_output(output("events", "round-0002"), FRAME.head(1))
    assert load(manager, "events").height == 2


@pytest.mark.parametrize("partition", ["a/b", "../x", "a,b", "a\nb", "x" * 300, ".."])
def test_a_partition_that_is_no_name_is_refused(tmp_path, partition):
    with pytest.raises(WarehouseError, match="is not a name of"):
        WarehouseIOManager(root=str(tmp_path)).handle_output(output("events", partition), FRAME)
    assert list(tmp_path.iterdir()) == []


def test_what_was_never_stored_names_the_command_that_makes_it(tmp_path):
    with pytest.raises(
        WarehouseError,
        match="--select events --partition round-0001",
    ):
        load(WarehouseIOManager(root=str(tmp_path)), "events")


def test_paths_of_rounds_are_stored_relative_to_the_home(tmp_path):
    rounds = RoundsResource(home=str(tmp_path))
    assert rounds.relative(rounds.path("runs", "round-0001", "train")) == "runs/round-0001/train"
    with pytest.raises(ValueError, match="is not in the subpath"):
        rounds.relative(Path("/elsewhere"))


def test_the_spool_changes_its_version_when_a_file_grows(tmp_path):
    spool = SpoolResource(path=str(tmp_path), home=str(tmp_path), redact=[])
    empty = spool.version(spool.files())
    (tmp_path / "hooks").mkdir()
    file = tmp_path / "hooks/a.jsonl"
    file.write_text("{}\n")
    one = spool.version(spool.files())
    assert spool.files() == {"hooks/a.jsonl": 3}
    file.write_text("{}\n{}\n")
    assert len({empty, one, spool.version(spool.files())}) == 3


def test_a_round_reads_the_bank_as_it_was(tmp_path):
    settings = Settings(home=tmp_path)
    manifest = open_round(settings, TEMPLATE, RoundRequest(allow_empty=True))
    bank = SkillBankResource(
        path=str(settings.bank_path), template=str(TEMPLATE), snapshots=str(settings.bank_snapshots)
    )
    assert bank.content_hash() == manifest.bank_hash
    base = settings.bank_path / "rllm/rllm-run/base.md"
    base.write_text(base.read_text() + "\nMore.\n")
    assert bank.content_hash() != manifest.bank_hash
    assert bank.read_by(manifest).content_hash() == manifest.bank_hash
    assert bank.living().path == settings.bank_path


def test_before_the_first_round_the_shipped_bank_is_seen_and_left_alone(tmp_path):
    before = sha256_tree(TEMPLATE)
    bank = SkillBankResource(path=str(tmp_path / "bank"), template=str(TEMPLATE), snapshots=str(tmp_path))
    assert bank.content_hash()
    assert not (tmp_path / "bank").exists()
    assert sha256_tree(TEMPLATE) == before


def test_a_copy_of_the_bank_that_is_gone_is_told(tmp_path):
    settings = Settings(home=tmp_path)
    manifest = open_round(settings, TEMPLATE, RoundRequest(allow_empty=True))
    bank = SkillBankResource(
        path=str(settings.bank_path), template=str(TEMPLATE), snapshots=str(tmp_path / "no")
    )
    with pytest.raises(RoundError, match="Restore that folder from a backup, or open a new round"):
        bank.read_by(manifest)
