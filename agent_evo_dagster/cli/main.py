"""`agent-evo`: the root of the commands."""

import typer

from agent_evo_dagster.cli import (
    backtest,
    config,
    diagnose,
    doctor,
    evidence,
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
    train,
)
from agent_evo_dagster.cli.telling import told_to_people

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
app.command("train")(train.train)
app.command("import")(importing.import_)
app.command("export")(export.export)
app.command("report")(report.report)
app.command("backtest")(backtest.backtest_)
app.command("diagnose")(diagnose.diagnose)
app.command("query")(query.query)
app.command("evidence")(evidence.evidence)
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run a command; an error of the library is one message on stderr and exit code 1."""
    told_to_people("agent-evo", app)
