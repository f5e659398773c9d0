"""The published JSON Schemas of a bank's files, made from the models that read them. No checking here."""

import json

from pydantic import BaseModel

from agent_evo_dagster.patches.types import PatchHead
from agent_evo_dagster.skills.manifest import BankFile, Manifest
from agent_evo_dagster.skills.packages.frozen import Package
from agent_evo_dagster.skills.packages.registry import Registry

_MODELS: dict[str, tuple[type[BaseModel], str]] = {
    "bank": (BankFile, "bank.yaml of a skill bank"),
    "manifest": (Manifest, "manifest.yaml of a skill"),
    "patch": (PatchHead, "Front matter of a patch file"),
    "registry": (Registry, "registry.json of a skill bank"),
    "package": (Package, "package.json of a frozen package"),
}


def published_schemas() -> dict[str, str]:
    """The text of each schema, by its file name."""
    found = {}
    for name, (model, title) in _MODELS.items():
        schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **model.model_json_schema(mode="validation"),
            "title": title,
        }
        found[f"{name}.schema.json"] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    return found
