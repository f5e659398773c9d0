"""`agent-evo`: the root of the commands, and the one place where errors of the library become messages."""

import sys

import typer
from rich.console import Console

from agent_evo_dagster.cli import (
    backtest,
    config,
    diagnose,
    doctor,
    export,
    hooks,
    importing,
    init,
    lineage,
    patches,
    query,
    report,
    rounds,
    skills,
    task_packages,
)
from agent_evo_dagster.errors import AgentEvoError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Skills and tool-using agents that get better from experience, one gated round at a time.",
)
app.add_typer(rounds.app, name="rounds")
app.add_typer(config.app, name="config")
app.add_typer(patches.app, name="patches")
app.add_typer(skills.app, name="skills")
app.add_typer(task_packages.app, name="task-package")
app.add_typer(lineage.app, name="lineage")
app.add_typer(hooks.app, name="hooks")
app.command("init")(init.init)
app.command("import")(importing.import_)
app.command("export")(export.export)
app.command("report")(report.report)
app.command("backtest")(backtest.backtest_)
app.command("diagnose")(diagnose.diagnose)
app.command("query")(query.query)
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run a command; an error of the library is one message on stderr and exit code 1."""
    try:
        app()
    except AgentEvoError as error:
        Console(stderr=True, soft_wrap=True).print(f"agent-evo: {error}", markup=False, highlight=False)
        sys.exit(1)
    except OSError as error:  # a full disk, a read-only home: the person's to mend, not a fault of the code
        told = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
        Console(stderr=True, soft_wrap=True).print(f"agent-evo: {told}", markup=False, highlight=False)
        sys.exit(1)
