"""The report as one HTML file that needs no network. No content of its own; the look is in templates."""

import base64
import functools
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from agent_evo_dagster.analysis.display import visible
from agent_evo_dagster.analysis.views.life import STANDINGS
from agent_evo_dagster.analysis.views.page import AllRounds, Page
from agent_evo_dagster.analysis.views.terms import QUOTED, TERMS


def render_html(page: Page) -> str:
    """The whole report. Every text is escaped, and hidden characters are shown as their code points."""
    template = _environment().get_template("report.html.j2")
    return template.render(page=page, terms=TERMS, standings=STANDINGS, quoted=QUOTED)


def render_all_rounds_html(page: AllRounds) -> str:
    """The page over all rounds, by the same rules."""
    return _environment().get_template("all_rounds.html.j2").render(page=page, terms=TERMS)


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=select_autoescape(enabled_extensions=("html.j2",), default=True),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"data_uri": _data_uri, "diff_lines": _diff_lines, "css": _css}
    return environment


def _template(name: str) -> str:
    return resources.files("agent_evo_dagster.analysis").joinpath("templates", name).read_text("utf-8")


def _finalize(value: object) -> object:
    # Markup is our own; everything else may hold session text.
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _css(name: str) -> Markup:
    return Markup(_template(name))


def _data_uri(svg: bytes) -> Markup:
    return Markup(f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}")


def _diff_lines(diff: str) -> list[tuple[str, str]]:
    """Each line of a unified diff with its class."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = diff.splitlines()
    return [
        ("place" if line.startswith(("+++", "---")) else kinds.get(line[:1], "same"), line) for line in lines
    ]
