"""A skill's section, findings and probe rows that the tests of patches share."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.patches.document import patch_id
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.propose import Proposals, propose_patches
from agent_evo_dagster.patches.types import Patch
from tests.agent_evo_dagster.patches.material import GROUPS, OPENED, SECTIONS, hint, rollouts


@pytest.fixture
def sections() -> dict[tuple[str, str], str]:
    return dict(SECTIONS)


@pytest.fixture
def finding() -> Callable[..., dict[str, object]]:
    """Makes one row of findings that points to a setting."""

    def make(
        setting: str = "learning_rate", direction: str = "raise", factor: float = 5.0, **columns: object
    ):
        row = {
            "finding_id": f"f-{setting}-{direction}",
            "origin": "training",
            "kind": "no_learning",
            "severity": "warning",
            "summary": "reward flat",
            "evidence": ["reward@0-10"],
            "count": 1,
            "target_skill": "rllm-config",
            "target_section": None,
            "confidence": 0.8,
            "hint": hint(setting, direction, factor),
            "data": "{}",
        }
        return {**row, **columns}

    return make


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "bank" / "decisions.jsonl")


@pytest.fixture
def propose(ledger: Ledger) -> Callable[..., Proposals]:
    """Proposes from finding rows against the sections of this file."""

    def run(
        *rows: dict[str, object], sections=SECTIONS, groups=GROUPS, created=OPENED, **options
    ) -> Proposals:
        frame = pl.DataFrame(list(rows), schema=FINDING_SCHEMA)
        options = {"round_key": "round-0001", "ledger": ledger, **options}
        return propose_patches(frame, sections, groups, created=created, **options)

    return run


@pytest.fixture
def probe_rows() -> Callable[..., pl.DataFrame]:
    """Makes paired rollouts: each task has a share of right ones on each side, the same for every seed."""
    return rollouts


@pytest.fixture
def prose(propose, finding) -> Patch:
    """A patch that changes a setting and a sentence."""
    (patch,) = propose(finding()).patches
    body = patch.body.replace("one value", "two values")
    new_id = patch_id(
        skill=patch.skill,
        section=patch.target_section,
        action="replace",
        base_hash=patch.base_hash,
        body=body,
    )
    return patch.model_copy(update={"id": new_id, "body": body})
