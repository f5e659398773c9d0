"""What is kept of a failed step: its message without secrets, nor what else is to go; or none of it."""

import dagster as dg
import pytest

from agent_evo_dagster.rounds.failures import failures_of
from automation.outcomes import step_failed
from resources.rounds import RoundsResource
from tests.agent_evo_dagster.rounds.test_state import KEY


@pytest.fixture
def kept(tmp_path):
    folder = tmp_path / "rounds" / KEY
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")

    def message(*personal):
        @dg.op(name="segments")
        def fails():
            raise ValueError("no /home/ada/x of ada@example.org, ghp_" + "a1B2" * 9)

        @dg.job(hooks={step_failed})
        def one():
            fails()

        rounds = RoundsResource(home=str(tmp_path), redact=list(personal))
        one.execute_in_process(
            resources={"rounds": rounds}, tags={"dagster/partition": KEY}, raise_on_error=False
        )
        (failure,) = failures_of(folder)
        return failure.message

    return message


def test_personal_data_goes_where_it_was_asked_for(kept):
    assert "ada@example.org" in kept() and "ghp_" not in kept()
    told = kept("email", "home")
    assert "ada" not in told and "<redacted:" in told


def test_without_a_key_the_failure_is_kept_and_its_words_are_not(kept, tmp_path):
    (tmp_path / "redaction.key").write_text("short")
    told = kept()
    assert "cannot be redacted" in told and "ghp_" not in told and "ada" not in told
