"""The published schemas are those of the models, and say of a file what the reader says."""

import json
from pathlib import Path

import yaml

from agent_evo_dagster.patches.document import render_patch
from agent_evo_dagster.patches.types import PatchHead
from agent_evo_dagster.skills.manifest import BankFile, Manifest
from agent_evo_dagster.skills.packages.frozen import Package
from agent_evo_dagster.skills.packages.registry import Registry
from agent_evo_dagster.skills.schemas import published_schemas
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK, patch

PUBLISHED = Path(__file__).parents[3] / "docs" / "schemas"


def test_the_published_schemas_are_current() -> None:
    """Where this fails: agent-evo skills schemas docs/schemas."""
    held = {path.name: path.read_text() for path in PUBLISHED.iterdir()}
    assert held == published_schemas()


def test_a_schema_names_every_field_and_no_other() -> None:
    models = {
        "bank": BankFile,
        "manifest": Manifest,
        "patch": PatchHead,
        "registry": Registry,
        "package": Package,
    }
    for name, model in models.items():
        schema = json.loads(published_schemas()[f"{name}.schema.json"])
        assert set(schema["properties"]) == set(model.model_fields)
        assert schema["additionalProperties"] is False


def test_files_of_the_shipped_bank_hold_what_the_schemas_name() -> None:
    bank = yaml.safe_load((DEFAULT_BANK / "bank.yaml").read_text())
    schema = json.loads(published_schemas()["bank.schema.json"])
    assert set(schema["required"]) <= set(bank) <= set(schema["properties"])
    head = yaml.safe_load(render_patch(patch("First.\n", "More.\n")).split("---\n")[1])
    assert set(head) == set(json.loads(published_schemas()["patch.schema.json"])["properties"])
