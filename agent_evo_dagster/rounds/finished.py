"""A finished round read back from where rounds store everything, by its key, its run or its folder."""

from pathlib import Path

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.rounds.packaging import FRAMES, FinishedRound
from agent_evo_dagster.rounds.runs import parent_checkpoint, train_dir
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.training.config_sources import config_from_frame
from agent_evo_dagster.training.policy.bases import base_policy
from agent_evo_dagster.warehouse import Warehouse


def finished_round(settings: Settings, key: str) -> FinishedRound:
    """The round `key`, which has come to its end and waits for nobody.

    Raises:
        RoundError: it is not open, not finished, waits for a person, or what it read is gone.
        WarehouseError: one of its frames is not stored.
    """
    store = RoundStore(settings.rounds)
    manifest, status = store.load(key), store.status(key)
    if status is None or status.status != "complete":
        state = "is not finished" if status is None else "has a patch that waits for a person"
        advice = f"agent-evo rounds run {key}" if status is None else f"agent-evo rounds show {key}"
        raise RoundError(f"{key} is to be frozen, and it {state}. Go on with: {advice}")
    read = settings.bank_snapshots / manifest.bank_hash
    if not read.is_dir():
        raise RoundError(f"{key} read the bank {manifest.bank_hash[:12]}, and its copy {read} is gone.")
    warehouse = Warehouse(settings.warehouse)
    frames = {name: warehouse.read((name,), key) for name in FRAMES}
    model = config_from_frame(frames["training_config"]).model
    base = base_policy(model, settings.root / "models", python=settings.trainer_python)
    return FinishedRound(
        manifest=manifest,
        status=status,
        frames=frames,
        run_dir=train_dir(settings.runs, key),
        init=parent_checkpoint(settings.runs, manifest.parent, model) or base,
        bank=SkillBank.open(read),
    )


def round_of_run(settings: Settings, *, run_id: str | None = None, run_dir: Path | None = None) -> str:
    """The key of the round whose training is called `run_id`, or lies in `run_dir`.

    Raises:
        RoundError: no finished round has such a run, or none or both were given.
    """
    if (run_id is None) == (run_dir is None):
        raise RoundError("Say which run: give its id (--run-id), or its folder (--run-dir).")
    store = RoundStore(settings.rounds)
    keys = store.keys()
    known = {key: status for key in keys if (status := store.status(key)) is not None}
    for key, status in known.items():
        folder = train_dir(settings.runs, key).resolve()
        if run_id in (key, *status.training.run_ids):
            return key
        if run_dir is not None and run_dir.resolve() in (folder, folder.parent):
            return key
    listed = ", ".join(status.training.run_id for status in known.values()) or "none"
    raise RoundError(f"No finished round has the run {str(run_id or run_dir)!r}; there are: {listed}.")
