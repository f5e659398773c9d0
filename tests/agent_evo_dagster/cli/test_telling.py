"""An error of the library is one line for people, whatever stands in the names and values that it tells."""

import pytest

from agent_evo_dagster.cli.telling import screen, told_to_people
from agent_evo_dagster.errors import TrainingError


def test_text_of_a_file_never_drives_the_terminal(capsys):
    def fails():
        raise TrainingError("\x1b[31mfoo\x1b[0m is no training setting")

    with pytest.raises(SystemExit):
        told_to_people("agent-evo", fails)
    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert "<U+001B>[31mfoo" in told


def test_a_full_disk_is_told_as_such(capsys):
    def fails():
        raise OSError(28, "No space left on device", "/somewhere/file")

    with pytest.raises(SystemExit):
        told_to_people("agent-evo", fails)
    assert capsys.readouterr().err == "agent-evo: No space left on device: /somewhere/file\n"


@pytest.mark.parametrize(("columns", "lines"), [("", 1), ("40", 5)])
def test_a_line_in_a_pipe_is_broken_only_where_columns_says_so(capsys, monkeypatch, columns, lines):
    monkeypatch.setenv("COLUMNS", columns)
    screen().print("a-long-id " * 20)
    assert len(capsys.readouterr().out.splitlines()) == lines
