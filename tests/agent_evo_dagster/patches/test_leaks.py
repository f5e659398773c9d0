"""A text that holds the words of a task, or its answer, is seen whatever it is dressed in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.patches.leaks import WINDOW, Known, given_away

PROMPT = "Find out why the nightly import of orders stopped at row 4711, and tell the row that it began with."
BASE = "## Failures\n\n- Stop, and say why.\n"


def gives(told, base=BASE, answer=None, texts=(PROMPT,)):
    return given_away(f"{base}{told}", base, {"one": Known(texts, answer)}) == ["one"]


@pytest.mark.parametrize(
    "told",
    [
        PROMPT,
        PROMPT.upper(),
        "- When asked why the nightly import of orders stopped at row 4711: it was a comma.",
        "- why the **nightly** import of `orders` _stopped_ at row 4711",
        "- why the nightly\n  import of\r\n  orders stopped\u2028at row 4711",
        "- why the night-\nly import of or\u2010\n ders stopped at row 4711",
        "- why the night\u200bly imp\u00adort of orders st\u2060opped at row 4711",
        "- why the n\u0456ghtly \u0456mp\u043ert \u043ef \u043erders st\u043epped at row 4711",
        "- why the \uff4eightly i\U0001d426port of orders stopped at row \uff14\uff17\uff11\uff11",
        "| why the | nightly | import of orders | stopped at | row 4711 |",
        "- why the nightly <b>import</b> of <!-- orders --> stopped at &#114;ow 4711",
        "- why-the-nightly-import-of-orders-stopped-at-row-4711",
        PROMPT.replace(" ", " <!-- zq --> "),
        PROMPT.replace(" ", "<i id=zq></i> "),
        PROMPT.replace(" ", "[^1] "),
        f"<!-- {PROMPT} -->",
        f"- Read [{PROMPT}](#there).",
        "- why the nightly |mport of orders stopped at row 4711",
    ],
)
def test_words_of_a_task_are_seen_in_any_dress(told):
    assert gives(told)


@pytest.mark.parametrize(
    "told",
    [
        "- Read the log first, and look for the row that it stopped at.",
        "- An import of orders stopped at a row: say which.",
        "- Import the orders nightly.",
        "",
    ],
)
def test_words_that_a_task_only_shares_are_none_of_its(told):
    assert not gives(told)


def test_a_short_line_is_seen_where_it_stands_whole():
    texts = ("0.5\n\nthe shop is closed on Mondays in May\nno\n",)
    assert gives("The shop is closed on Mondays, in May.", texts=texts)
    assert not gives("The shop is closed on Mondays. 0.5? no!", texts=texts)


def test_what_the_text_before_it_holds_is_no_quote():
    assert not gives("- More.\n", base=f"{BASE}- {PROMPT} The answer is 4217.\n", answer="4217")
    assert gives("- More.\n- 4217\n", base=f"{BASE}- {PROMPT}\n", answer="4217")


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        ("the answer is 4217.", "4217"),
        ("the answer is **4217**", "**4217**"),
        ("it is 4`2`17", "4217"),
        ("it is 42\u200b17", "4217"),
        ("it is 42-\n17", "4217"),
        ("it is 4,217 in all", "4217"),
        ("it is 4217", "4,217"),
        ("it is 42&#49;7", "4217"),
        ("it is \uff14\uff12\uff11\uff17", "4217"),
        ("Say TIMEZONE.", "timezone"),
        ("Say tim\u0435zone.", "timezone"),
        ("a late, rainy monday", "rainy Monday"),
        ("see x-42B", "X-42b"),
        ("it is 42<!-- -->17", "4217"),
        ("it is 42<b id=x>17</b>", "4217"),
        ("it is [42](#)17", "4217"),
        ("it is 42[^1]17", "4217"),
        ("it is $4{,}217$", "4217"),
        ("it is 4 217", "4217"),
        ("it is 4.217", "4217"),
        ("it is 4\u00b7217", "4217"),
        ("it is 4\uff0c217", "4217"),
        ("it is 4\u2007217", "4217"),
        ("it is 4&amp;shy;217", "4217"),
        ("it is 4\u0378217", "4217"),
        ("in 2024 100 of them", "2024"),
        ("<!-- 4217 -->", "4217"),
    ],
)
def test_an_answer_that_can_be_known_again_is_seen(told, answer):
    assert gives(told, answer=answer, texts=())


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        ("yes", "yes"),
        ("Say no, 42 or error.", "error"),
        ("at most 42 lines", "42"),
        ("row 142171", "4217"),
        ("rows 42 and 17", "4217"),
        ("timezones", "timezone"),
        ("anything", "**"),
    ],
)
def test_a_short_answer_or_a_part_of_a_word_is_none(told, answer):
    assert not gives(told, answer=answer, texts=())


SHARED = "Answer with the number alone on the last line of your reply."
SHORT = "the number alone, no unit"


def test_what_most_tasks_say_is_none_of_theirs_alone():
    tasks = {
        f"t{number}": Known((f"{PROMPT[: 60 + number]}{number}. {SHARED}\n{SHORT}",)) for number in range(2)
    }
    tasks |= {f"u{number}": Known((f"Count to {number}. {SHARED}\n{SHORT}",)) for number in range(2)}
    assert given_away(f"- {SHARED}\n- {SHORT}\n", BASE, tasks) == []
    assert given_away(f"- {SHARED}\n", BASE, {"one": Known((SHARED,))}) == ["one"]
    few = {**{f"v{number}": Known((f"Do {number}.",)) for number in range(3)}, "one": Known((SHARED,))}
    assert given_away(f"- {SHARED}\n", BASE, few) == ["one"]


def test_a_short_line_that_the_text_before_it_holds_is_no_quote():
    texts = ("the shop is closed on Mondays in May",)
    held = f"{BASE}- The shop is closed on Mondays in May.\n"
    assert not gives("- The shop is closed on Mondays in May.\n", base=held, texts=texts)


def test_an_answer_of_several_tasks_gives_none_away():
    tasks = {name: Known((), answer) for name, answer in (("a", "warning"), ("b", "Warning"), ("c", "4217"))}
    assert given_away("a warning", BASE, tasks) == []
    assert given_away("a warning: 4217", BASE, tasks) == ["c"]


# Without letters that are taken for others, alone or in pairs, and the one that the text before ends with.
_WORDS = st.lists(st.from_regex(r"[a-hkpqstuxz]{1,9}", fullmatch=True), min_size=WINDOW, max_size=60)


@given(_WORDS, st.data())
@settings(max_examples=40)
def test_any_window_of_a_task_is_seen_and_anything_shorter_is_not(words, data):
    letters = "".join(words)
    start = data.draw(st.integers(0, len(letters) - WINDOW))
    joint = data.draw(st.sampled_from(["", " ", "\n", "**", "\u200b", "-", "> "]))
    part = letters[start : start + WINDOW]
    assert gives(joint.join(part), texts=(" ".join(words),))
    assert not gives(joint.join(part[1:]), texts=(" ".join(words),))
