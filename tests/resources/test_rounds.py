"""The rounds as a resource: a person's veto in the settings of today holds for rounds opened before."""

from datetime import UTC, datetime
from typing import Literal

import pytest

from agent_evo_dagster.rounds.types import RoundManifest
from resources.rounds import RoundsResource


def manifest(policy: Literal["auto", "manual"]) -> RoundManifest:
    return RoundManifest(
        key="round-0001",
        number=1,
        opened_at=datetime(2026, 1, 2, tzinfo=UTC),
        seed=0,
        request="",
        overrides={},
        policy=policy,
        include_open_sessions=False,
        slices=(),
        bank_hash="b" * 64,
        parent=None,
    )


@pytest.mark.parametrize(
    ("opened", "today", "decides"),
    [("auto", "auto", "auto"), ("auto", "manual", "manual"), ("manual", "auto", "manual")],
)
def test_a_person_decides_where_the_round_or_the_settings_say_so(
    opened: Literal["auto", "manual"], today: str, decides: str
) -> None:
    assert RoundsResource(home="home", policy=today).policy_of(manifest(opened)) == decides
