import pytest

from agent_evo_dagster.training.pace import WINDOW, Pace, clock, told


def paced(*seen: tuple[int, float]) -> Pace:
    pace = Pace()
    for step, now in seen:
        pace.see(step, now)
    return pace


def test_nothing_is_said_before_a_step_was_seen_whole() -> None:
    assert told(Pace(), 8, 0.0) == []
    assert told(paced((0, 10.0), (0, 12.0)), 8, 12.0) == []


def test_a_step_takes_from_the_end_of_the_one_before() -> None:
    pace = paced((0, 10.0), (1, 14.0), (1, 17.0), (3, 22.0))  # a look may miss a step
    assert pace.seconds == 4.0
    assert told(pace, 8, 22.0) == ["4 s/step", "0:20 left"]
    assert pace.left(8, 23.0) == 19.0


def test_a_step_that_is_late_leaves_no_negative_rest() -> None:
    assert paced((0, 0.0), (7, 7.0)).left(8, 100.0) == 0.0


def test_a_training_that_goes_on_counts_the_steps_of_this_process_alone() -> None:
    assert paced((40, 100.0), (41, 103.0)).seconds == 3.0


def test_the_last_steps_tell_the_pace() -> None:
    slow_then_fast = [(step, 100.0 * step) for step in range(5)]
    slow_then_fast += [(4 + step, 400.0 + step) for step in range(1, WINDOW + 1)]
    assert paced(*slow_then_fast).seconds == 1.0


def test_another_part_of_the_job_begins_anew() -> None:
    assert paced((0, 0.0), (3, 3.0), (0, 10.0)).seconds is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3_725, "1:02:05")]
)
def test_a_duration_is_read_like_a_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_steps_of_unknown_number_have_a_pace_and_no_end() -> None:
    assert told(paced((0, 0.0), (2, 1.0)), None, 1.0) == ["0.5 s/step"]
