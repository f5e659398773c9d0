"""The settings that name a person's own files: where they are, what they hold, who may set them."""

from pathlib import Path

from agent_evo_dagster.files import sha256_file, sha256_tree
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.plugins import file_of, is_reference, located

# Code that runs in the worker, named by file or import path.
CODE = ("environment", "agent", "tools", "reward", "engine_wrapper")


def names_own_file(name: str, value: object) -> bool:
    """Whether this setting would make the worker read or run a file: only a person may ask for that."""
    if name == "dataset_path":
        return bool(value)
    return name in CODE and isinstance(value, str) and is_reference(value)


def located_config(config: TrainingConfig, folder: Path) -> TrainingConfig:
    """The same configuration, its files taken from `folder`: for a process that works elsewhere."""
    values = {name: located(getattr(config, name), folder) for name in CODE}
    if config.dataset_path:
        values["dataset_path"] = str((folder / config.dataset_path).absolute())
    return config.model_copy(update=values)


def own_hashes(config: TrainingConfig) -> dict[str, str]:
    """SHA-256 of each file or folder that is named and there, by its setting."""
    paths = {name: file_of(getattr(config, name)) for name in CODE}
    if config.dataset_path:
        paths["dataset_path"] = Path(config.dataset_path)
    found = {name: path for name, path in paths.items() if path is not None and path.exists()}
    return {name: sha256_file(path) if path.is_file() else sha256_tree(path) for name, path in found.items()}
