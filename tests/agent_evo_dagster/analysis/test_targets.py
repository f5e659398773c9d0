import json

import pytest

from agent_evo_dagster.analysis.detectors.polling import Polling
from agent_evo_dagster.analysis.detectors.registry import default_detectors, detectors
from agent_evo_dagster.analysis.detectors.repeated_failure import RepeatedFailure
from agent_evo_dagster.analysis.findings import make_finding, subject_of, to_frame
from agent_evo_dagster.analysis.types import Severity
from agent_evo_dagster.errors import AnalysisError
from tests.agent_evo_dagster.analysis.session_builders import SKILLS, bash, find

WATCH = {
    ("rllm-monitor", "signals"): "Healthy: KL 0.001-0.05.",
    ("rllm-monitor", "cadence"): "Read the files, at most twice a minute; do not loop without a pause.",
}


class Own:
    """A detector as a user would write it: one finding, whatever happened."""

    name = "own"

    def find(self, sessions):
        return [
            make_finding(
                "session", self.name, severity=Severity.INFO, summary=f"{len(sessions.calls)} calls",
                evidence=[], count=1, confidence=1.0, data={},
            )
        ]  # fmt: skip


class NoDetector:
    pass


class Taken(Own):
    name = "polling"


HERE = f"{__name__}:"


def test_a_finding_points_to_the_section_that_shares_its_words_and_says_which():
    calls = [bash(f"sleep 60 && tail -{n} run.log") for n in range(3)]
    (row,) = find(calls, Polling(), skill="rllm-monitor", skills=WATCH).to_dicts()
    assert row["target_section"] == "cadence"
    assert "loop, pause" in json.loads(row["data"])["section_why"]


def test_a_finding_that_shares_too_little_points_to_no_section():
    calls = [bash("zzz", "failure", "Exit code 9\nqqq")] * 2
    (row,) = find(calls, RepeatedFailure(), skills={("rllm-run", "limits"): "One at a time."}).to_dicts()
    assert row["target_section"] is None
    assert "section_why" not in json.loads(row["data"])


def test_words_of_a_settings_block_draw_no_session_finding():
    block = '## Optimisation\n\n```yaml\n# agent-evo:settings\nx: {default: 1, why: "loop, pause"}\n```\n'
    calls = [bash(f"sleep 60 && tail -{n} run.log") for n in range(3)]
    skills = {("rllm-monitor", "optimisation"): block, **WATCH}
    (row,) = find(calls, Polling(), skill="rllm-monitor", skills=skills).to_dicts()
    assert row["target_section"] == "cadence"
    alone = find(calls, Polling(), skill="rllm-monitor", skills={("rllm-monitor", "optimisation"): block})
    assert alone["target_section"].to_list() == [None]


def test_only_sections_of_the_skill_that_was_followed_are_looked_at():
    calls = [bash(f"sleep 60 && tail -{n} run.log") for n in range(3)]
    assert find(calls, Polling(), skill="rllm-other", skills=WATCH)["target_section"].to_list() == [None]
    assert find(calls, Polling(), skill=None, skills=WATCH)["target_skill"].to_list() == [None]


def test_the_order_of_the_texts_does_not_change_the_target():
    calls = [bash("agent-evo rounds run", "failure", "Exit code 1\nerror: again")] * 2
    turned = dict(reversed(SKILLS.items()))
    assert find(calls, RepeatedFailure(), skills=SKILLS).equals(find(calls, RepeatedFailure(), skills=turned))


def test_a_detector_of_ones_own_runs_beside_the_shipped_ones():
    chosen = detectors([f"{HERE}Own"])
    assert [one.name for one in chosen] == [*(one.name for one in default_detectors()), "own"]
    assert find([bash("ls")], *chosen, skill=None)["kind"].to_list() == ["own"]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("polling", "by import path"),
        ("no.such.module:Own", "cannot be made"),
        (f"{HERE}Missing", "cannot be made"),
        (f"{HERE}NoDetector", "is no detector"),
        (f"{HERE}Taken", "called 'polling', as another is"),
    ],
)
def test_what_is_no_detector_is_refused_with_the_reason(path, told):
    with pytest.raises(AnalysisError, match=told):
        detectors([path])


def test_the_same_trouble_has_the_same_subject_whatever_its_counts():
    few, many = (find([bash("x", "failure")] * n, RepeatedFailure()).to_dicts()[0] for n in (2, 5))
    assert few["finding_id"] != many["finding_id"]
    assert subject_of(few["kind"], few["data"], "") == subject_of(many["kind"], many["data"], "")
    assert subject_of("own", "{}", "said") == ("own", "said")


def test_a_row_keeps_some_of_the_evidence_and_the_id_is_of_all():
    def made(last):
        return make_finding(
            "session", "k", severity=Severity.INFO, summary="s",
            evidence=[f"e{n}" for n in range(99)] + [last], count=100, confidence=1, data={},
        )  # fmt: skip

    assert len(to_frame([made("a")])["evidence"][0]) == 60
    assert made("a").finding_id != made("b").finding_id
