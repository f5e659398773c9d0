"""Orders in sessions that the analyst and the judge obey, from the spool to the skills: a person decides."""

from collections import Counter
from datetime import UTC, datetime

import polars as pl
import pytest

from agent_evo_dagster.analysts.types import Analysis, AnalystRun
from agent_evo_dagster.errors import AnalystError
from agent_evo_dagster.patches.decisions import decide
from agent_evo_dagster.patches.frames import patches_from_frame
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.policies import people_needed
from agent_evo_dagster.patches.records import DecisionRecord
from agent_evo_dagster.rounds.adoption import adopt_approved
from tests.agent_evo_dagster.analysts.fake_models import serving
from tests.agent_evo_dagster.analysts.material import KEY
from tests.agent_evo_dagster.patches.obedient import BETTER, Obedient, attack, fenced, files_of, texts_of
from tests.agent_evo_dagster.patches.orders import HONEST, ORDERS, UNHEARD, understood

POLICIES = ("auto", "manual", "two_person")
SERVICES = ("anthropic", "openai")
NOW = datetime(2026, 1, 3, tzinfo=UTC)
RULES = Analysis(None, (), AnalystRun("rules", None))


@pytest.fixture(scope="module")
def served():
    """An analyst and judge that obeys, and its address."""
    fake = Obedient()
    with serving(fake) as url:
        yield fake, url


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where answers are kept, so that the judge is tested once for each service."""
    return tmp_path_factory.mktemp("answers")


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for service in SERVICES:
        monkeypatch.setenv(f"{service.upper()}_API_KEY", KEY)


def decided(round_, patches, judged, folder, policy):
    """The decisions of a policy and what it put on record; what it approves is adopted."""
    ledger = Ledger(folder / f"{policy}.jsonl")
    decisions = decide(policy, patches, judged, ledger, NOW)
    adopt_approved(
        round_.bank, ledger, patches_from_frame(patches), decisions, now=NOW, people=people_needed(policy)
    )
    return decisions["decision"].to_list(), [
        one for one in ledger.records() if isinstance(one, DecisionRecord)
    ]


def assert_nothing_approved(round_, patches, judged, folder):
    """Under no policy, whatever judges of prose say, and no byte of the bank or its skills is another.

    Returns what `auto` decides on what was judged.
    """
    before = files_of(round_.bank)
    accepted = pl.when(pl.col("judge") != "probe").then(pl.lit("accept")).otherwise("verdict")
    found = []
    bribed = judged.with_columns(verdict=accepted)
    for policy, verdicts in (("auto", judged), *((policy, bribed) for policy in POLICIES)):
        place = folder / ("judged" if verdicts is judged else "bribed")
        decisions, records = decided(round_, patches, verdicts, place, policy)
        assert "approve" not in [*decisions, *(one.decision for one in records)]
        assert policy == "auto" or (set(decisions) <= {"wait"} and records == [])
        found.append(decisions)
    assert files_of(round_.bank) == before
    return found[0]


def test_the_orders_are_of_each_kind_by_each_channel():
    assert len({order.text for order in ORDERS}) == len({order.name for order in ORDERS}) == len(ORDERS) >= 35
    assert min(Counter(order.kind for order in ORDERS).values()) >= 6
    assert len({order.channel for order in ORDERS}) == 9
    assert sum(first_hidden(order.text) is not None for order in ORDERS) >= 5


@pytest.mark.parametrize("order", ORDERS, ids=[order.name for order in ORDERS])
def test_an_order_that_analyst_and_judge_obey_ends_with_nothing_approved(tmp_path, served, kept, order):
    (fake, url), service = served, SERVICES[ORDERS.index(order) % 2]
    round_ = attack(order, tmp_path / "project", kept)
    fake.order, asked = order, len(fake.requests)
    ledger = Ledger(tmp_path / "none.jsonl")
    try:
        analysis, unusable = round_.analysed(service, url), ""
    except AnalystError as error:
        analysis, unusable = None, str(error)
    system, question = fake.question(asked)
    heard = order.name in understood(texts_of(fenced(question)))
    assert heard is (order.channel not in UNHEARD) and order.name not in system
    proposals = None if analysis is None else round_.proposed(analysis, ledger)
    reasons = [unusable] if proposals is None else [skip.reason for skip in proposals.skipped]
    if order.ends in ("waits", "rejected"):
        assert len(proposals.patches) == 1
        patches = round_.rows_of(proposals)
        judged = round_.judged(patches, service, url)
        waits = order.ends == "waits"
        verdict, wanted = ("needs_person", 1.0) if waits else ("reject", -0.5)
        assert judged.select("verdict", "difference").row(0) == (verdict, pytest.approx(wanted))
        decisions = assert_nothing_approved(round_, patches, judged, tmp_path)
        assert decisions == ["wait" if waits else "reject"]
    elif order.ends == "unheard":
        assert analysis.drafts == () and reasons == []
    else:
        assert any(order.ends in reason for reason in reasons)
        assert proposals is None or proposals.patches == ()
    by_rules = round_.rows_of(round_.proposed(RULES, ledger))
    assert by_rules.height <= 1
    assert_nothing_approved(round_, by_rules, round_.judged(by_rules, service, url), tmp_path / "rules")


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_round_approves_by_auto_alone_what_touches_settings_and_was_measured(
    tmp_path, served, kept, policy
):
    fake, url = served
    round_ = attack(HONEST, tmp_path / "project", kept)
    fake.order = HONEST
    analysis = round_.analysed("openai", url)
    patches = round_.rows_of(round_.proposed(analysis, Ledger(tmp_path / "none.jsonl")))
    judged = round_.judged(patches, "openai", url, BETTER)
    before = files_of(round_.bank)
    decisions, records = decided(round_, patches, judged, tmp_path, policy)
    skill = "skills/rllm-config/SKILL.md"
    after = files_of(round_.bank)
    if policy == "auto":
        assert decisions == ["approve"] and [one.by for one in records] == ["policy:auto"]
        assert after[skill] == before[skill].replace(b"default: 2.0e-5", b"default: 0.0001") != before[skill]
    else:
        assert decisions == ["wait"] and records == [] and after == before
