"""Two people have names that an eye can tell apart."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.decisions import person
from agent_evo_dagster.patches.people import mixed_scripts, same_person


@pytest.mark.parametrize("name", ["Аda", "Аdа", "Bοb", "Ada Иванова", "ρaul", "Аｄａ", "Вob"])
def test_a_name_that_mixes_scripts_decides_nothing(name):
    assert any(unicodedata.name(letter).startswith(("CYRILLIC", "GREEK")) for letter in name)
    with pytest.raises(DecisionError, match=r"mixes letters of .*Latin"):
        person(name)


@pytest.mark.parametrize(
    "name",
    [
        "Ada Lovelace", "Zoë", "Łukasz Żak", "Иван Петров", "Νίκος", "王小明", "山田 タロー", "김철수 Kim",
        "王 Wang", "שרה", "أحمد", "अनिल", "Ｗang", "O'Neil-2", "Nguyễn", "Ada (o/b/o team 3)",
    ],
)  # fmt: skip
def test_names_of_one_script_stand_as_they_are_written(name):
    assert person(name) == name
    assert mixed_scripts(name) == ()


@pytest.mark.parametrize(
    ("latin", "other"),
    [
        ("Coco", "Сосо"),
        ("EBA", "ЕВА"),
        ("Tom", "Тоm"),
        ("xoxo", "хохо"),
        ("Nikos", "Νikos"),
        ("Ada", "Аԁа"),
        ("Coco", "Ϲοϲο"),
        ("ADA", "ᎪᎠᎪ"),
        ("noon", "ոօօո"),
        ("Coco", "ᴄᴏᴄᴏ"),
        ("gigi", "ɡiɡi"),
        ("Bob", "B0b"),
        ("Al", "AI"),
        ("Mary", "rnary"),
        ("Ada", "Ada\u0332"),
        ("Ada", "Ada."),
        ("Ada", "Ada\u00b7"),
    ],
)
def test_names_that_look_the_same_are_one_person(latin, other):
    assert latin != other
    assert same_person(latin) == same_person(other)


def test_names_that_do_not_look_the_same_are_two():
    names = ["Ada", "Ида", "Боб", "Bob", "Анна", "Anna", "Иван", "Ivan", "Νίκος", "Nikos", "王小明", "王小红"]
    assert len({same_person(name) for name in names}) == len(names)


def test_no_way_to_write_policy_is_a_person():
    for name in ("policy:auto", "Policy: auto", "роlісу:auto", "p0l1cy auto"):
        with pytest.raises(DecisionError):
            person(name)


@given(st.text("АаВвЕеКкМмНнОоРрТтYyИиAaBbNnΑαΒβΝνΗηΡρ ", max_size=12))
def test_case_makes_no_other_person(name):
    assert same_person(name.upper()) == same_person(name.lower()) == same_person(name)
