"""Whether everybody can read the page: contrast, order, landmarks, names, and what a keyboard reaches."""

import re
from itertools import pairwise

import pytest

from agent_evo_dagster.analysis.all_rounds import render_all_rounds
from agent_evo_dagster.analysis.report import render_report
from tests.agent_evo_dagster.analysis.pages import Outline
from tests.agent_evo_dagster.analysis.rounds import all_of, line

Colours = dict[str, str]


@pytest.fixture(scope="module", params=["one round", "all rounds"])
def html(request, inputs):
    if request.param == "one round":
        return render_report(inputs).html
    return render_all_rounds(all_of(line(1), line(2))).html


@pytest.fixture(scope="module")
def outline(html):
    return Outline(html)


def style_of(html: str) -> str:
    return html[html.index("<style>") + 7 : html.index("</style>")]


def schemes(css: str) -> dict[str, Colours]:
    """The colours by name, in the light and in the dark."""
    found = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in css.split(":root {")[1:]]
    light, dark = found
    return {"light": light, "dark": {**light, **dark}}


def rules(css: str) -> list[tuple[str, str]]:
    return re.findall(r"([^{}@]+)\{([^{}]*)\}", css)


def used(css: str) -> list[tuple[str, str, str]]:
    """Every rule that sets the colour of text, with it and with the rule's own background, else nothing."""
    found = []
    for selector, body in rules(css):
        ink = re.search(r"(?<![a-z-])color: ([^;]+)", body)
        ground = re.search(r"background: ([^;]+)", body)
        if ink and ink[1] not in {"currentColor", "light dark"}:
            found.append((selector.strip(), ink[1], ground[1] if ground else ""))
    return found


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def named(colours: Colours, value: str) -> str:
    return colours[re.fullmatch(r"var\(--([a-z-]+)\)", value)[1]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_what_it_lies_on(html, scheme):
    """WCAG AA: 4.5 to 1. Text without a background of its own may lie on the page, a block or a note."""
    css = style_of(html)
    colours = schemes(css)[scheme]
    inks = used(css)
    assert {"a", "body", "summary", ".added", ".meta"} <= {
        part for name, _, _ in inks for part in name.split(", ")
    }
    for selector, ink, ground in inks:
        lies_on = [named(colours, ground)] if ground else [colours[name] for name in ("bg", "wash", "note")]
        for other in lies_on:
            assert contrast(named(colours, ink), other) >= 4.5, (selector, ink, other)


def test_contrast_is_that_of_the_standard():
    assert round(contrast("#000000", "#ffffff"), 2) == 21
    assert round(contrast("#767676", "#ffffff"), 2) == 4.54


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_has_the_focus_and_what_a_link_led_to_are_seen(html, scheme):
    colours = schemes(style_of(html))[scheme]
    shown = {name.strip(): body for name, body in reversed(rules(style_of(html)))}
    for selector in (":focus-visible", ":target"):
        outline = named(colours, re.search(r"outline: 3px solid ([^;]+)", shown[selector])[1])
        assert contrast(outline, colours["bg"]) >= 3
    assert "outline: none" not in html


def test_the_dark_colours_are_all_there_are(html):
    light, dark = style_of(html).split(":root {")[1:]
    names = re.findall(r"--([a-z-]+):", light)
    assert names == re.findall(r"--([a-z-]+):", dark.split("}")[0])


def test_the_page_says_its_language_and_fits_a_phone(html):
    assert html.startswith('<!doctype html>\n<html lang="en">')
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html
    assert re.search(r"<title>(round-0002|All rounds): [^<]+</title>", html)


def test_headings_come_in_order(outline):
    assert outline.levels[0] == 1
    assert outline.levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(outline.levels))


def test_there_is_one_of_each_landmark_and_a_way_past_the_head(outline):
    for tag in ("header", "main", "footer"):
        assert outline.tags.count(tag) == 1
    assert outline.tags.count("nav") <= 1
    links = [attributes for tag, attributes, _ in outline.elements if tag == "a"]
    assert links[0] == {"class": "skip", "href": "#main"}
    assert "main" in outline.values("id")


def test_every_section_and_region_has_a_name(outline):
    ids = outline.values("id")
    assert len(ids) == len(set(ids))
    for tag, attributes, _ in outline.elements:
        if tag in {"section", "nav"} or attributes.get("role") == "region":
            assert attributes.get("aria-label") or attributes["aria-labelledby"] in ids


def test_pictures_say_what_they_show(outline):
    pictures = [attributes["alt"] for tag, attributes, parents in outline.elements if tag == "img"]
    assert len(pictures) == outline.tags.count("figure") == outline.tags.count("figcaption") > 0
    assert all(re.search(r"[0-9]\.[0-9]{2}", alt) and alt in outline.text for alt in pictures)


def test_heads_of_tables_say_what_they_are_the_head_of(outline):
    scopes = [attributes.get("scope") for tag, attributes, _ in outline.elements if tag == "th"]
    assert scopes and set(scopes) == {"col", "row"}


def test_what_is_wider_than_a_phone_scrolls_in_itself_and_by_keyboard(html, outline):
    tables = [parents for tag, _, parents in outline.elements if tag == "table"]
    regions = [attributes for _, attributes, _ in outline.elements if attributes.get("class") == "scroll"]
    assert len(tables) == len(regions) > 0
    assert all(parents[-1] == "div" for parents in tables)  # the region
    assert all(one["tabindex"] == "0" and one["role"] == "region" for one in regions)
    shown = {name.strip(): body for name, body in reversed(rules(style_of(html)))}  # the first counts
    assert "overflow-x: auto" in shown[".scroll"]
    assert re.findall(r"var\(--(\w+)\).* (local|scroll)", shown[".scroll"]) == [
        *[("bg", "local")] * 2,  # scrolls with the table, and covers
        *[("edge", "scroll")] * 2,  # the shadow that stays at the edge
    ]
    assert "white-space: pre-wrap" in shown["pre"]


def test_nothing_takes_the_keyboard_out_of_order(outline):
    assert set(outline.values("tabindex")) == {"0"}
