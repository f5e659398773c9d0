"""Hooks stand alone: they run in other people's projects, with whatever Python is there."""

import ast
import sys
from pathlib import Path

import pytest

HOOKS = Path(__file__).parents[2] / "hooks"
SCRIPTS = sorted(HOOKS.glob("*.py"))
SIBLINGS = {script.stem for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_hooks_import_the_standard_library_alone(script: Path) -> None:
    names = set()
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    assert names <= sys.stdlib_module_names | SIBLINGS


def test_there_are_hooks_to_check() -> None:
    assert SCRIPTS
