"""The task package of a finished round: everything that is needed to look at it, or make it, again."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from agent_evo_dagster.rounds.status import RoundStatus
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.packages import freeze_task_package

# Files of a finished training run that the same seed makes again, byte for byte.
RUN_FILES = ("checkpoint", "metrics.jsonl", "rollouts.parquet")


def freeze_round(
    target: Path,
    *,
    manifest: RoundManifest,
    status: RoundStatus,
    run_dir: Path,
    files: Mapping[str, bytes],
    packages: Mapping[str, str],
) -> Path:
    """Freeze a finished round at `target`: manifest, status, run, and the `files` given by name.

    A round may move on after it was frozen, as where a person decides on a patch later. What was frozen
    stays, and the new state is frozen beside it: `round-0001`, then `round-0001.2`, `round-0001.3`. A state
    that is frozen already, under any of these names, is not frozen again.

    Returns:
        Folder of the package of this state.

    Raises:
        SkillBankError: a package of this round was damaged, or a file of the run is missing.
    """
    content: dict[str, Path | bytes] = {f"run/{name}": run_dir / name for name in RUN_FILES}
    content["manifest.json"] = (manifest.model_dump_json(indent=2) + "\n").encode()
    content["status.json"] = (status.model_dump_json(indent=2) + "\n").encode()
    about: dict[str, JsonValue] = {
        "kind": "task-package",
        "round": manifest.key,
        "seed": manifest.seed,
        "bank_hash": manifest.bank_hash,
        "run_id": status.training.run_id,
        "packages": dict(packages),
    }
    return freeze_task_package(target, files={**content, **files}, manifest=about, next_free=True)
