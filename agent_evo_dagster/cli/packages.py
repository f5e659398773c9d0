"""`agent-evo skills packages`: freeze the skills of a bank, promote them, switch, and go back."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agent_evo_dagster.cli.package_views import (
    list_packages,
    show_checked,
    show_history,
    show_review,
    show_smoke,
    tell_release,
    tell_switch,
)
from agent_evo_dagster.cli.skill_options import Bank, Json, opened
from agent_evo_dagster.skills.packages.ids import Kind, PackageId, parse_id, promoted
from agent_evo_dagster.skills.packages.install import install as install_package
from agent_evo_dagster.skills.packages.registry import read_registry
from agent_evo_dagster.skills.packages.release import Asked, release, review_package
from agent_evo_dagster.skills.packages.use import Mover, require_whole, roll_back
from agent_evo_dagster.skills.packages.use import select as select_package
from agent_evo_dagster.skills.packages.use import use as use_package

app = typer.Typer(
    no_args_is_help=True,
    help="Frozen states of the bank: stable, tried for a domain, proved there; and which are current.",
    epilog="Exit codes: 0 all is well; 1 refused, damaged, or evidence is missing; 2 wrong command line.",
)


class Freezable(StrEnum):
    """Kinds that are frozen from the bank as it is."""

    STABLE = "stable"
    EXPERIMENTAL = "experimental"


_By = Annotated[str, typer.Option("--by", help="Who decides: your name, as it will stand in the record.")]
_Reason = Annotated[str, typer.Option("--reason", help="Why, for whoever reads the record.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done only.")]
_Package = Annotated[str, typer.Argument(metavar="PACKAGE", help="Such as stable/v1 or vertical/maths/v2.")]
_Domain = Annotated[str | None, typer.Option("--domain", help="The domain, such as maths.")]
_Chosen = Annotated[str | None, typer.Option("--package", help="This one instead of the current one.")]


@app.command("list")
def list_(bank: Bank = None, as_json: Json = False) -> None:
    """List every package and what is current; --json prints the whole registry."""
    raise typer.Exit(list_packages(opened(bank), as_json=as_json))


@app.command()
def history(bank: Bank = None, as_json: Json = False) -> None:
    """List every switch of what is current, with who and why."""
    registry = read_registry(opened(bank).path)
    if as_json:
        typer.echo(json.dumps([switch.model_dump(mode="json") for switch in registry.history]))
        return
    show_history(registry)


@app.command()
def freeze(
    kind: Freezable,
    name: Annotated[str, typer.Argument(help="Its name, such as v1; never used again.")],
    *,
    by: _By,
    reason: _Reason,
    domain: _Domain = None,
    from_package: Annotated[
        str | None, typer.Option("--from-package", help="Stable package to compare an experimental one with.")
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", "-p", help="With the patches of it.")] = None,
    dry_run: _DryRun = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Freeze the skills of the bank as they are; a stable package becomes current at once."""
    package = PackageId(Kind(kind.value), name, domain)
    asked = Asked(package, by, reason, datetime.now(UTC), parent=from_package, profile=profile)
    held = opened(bank)
    done = release(held, asked, dry_run=dry_run)
    raise typer.Exit(tell_release(held, done, dry_run=dry_run, as_json=as_json))


@app.command()
def promote(
    package: _Package,
    *,
    by: _By,
    reason: _Reason,
    name: Annotated[str | None, typer.Option("--name", help="Name in vertical; default: the same.")] = None,
    dry_run: _DryRun = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Make an experimental package current for its domain, if the gate accepted all that is new in it."""
    wanted, held = promoted(parse_id(package), name), opened(bank)
    done = release(held, Asked(wanted, by, reason, datetime.now(UTC), parent=package), dry_run=dry_run)
    raise typer.Exit(tell_release(held, done, dry_run=dry_run, as_json=as_json))


@app.command()
def review(package: _Package, bank: Bank = None, as_json: Json = False) -> None:
    """Show the gate's verdict and the decision on each patch of a package, and what is missing."""
    found = parse_id(package)
    raise typer.Exit(show_review(found, review_package(opened(bank), found), as_json=as_json))


@app.command()
def use(
    package: _Package,
    *,
    by: _By,
    reason: _Reason,
    dry_run: _DryRun = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Make a stable or vertical package current again."""
    found = parse_id(package)
    switch = use_package(opened(bank).path, found, Mover(by, reason, datetime.now(UTC), dry_run))
    raise typer.Exit(tell_switch(switch, found.slot, dry_run=dry_run, as_json=as_json))


@app.command()
def rollback(
    slot: Annotated[str, typer.Argument(metavar="SLOT", help="stable, or vertical/DOMAIN.")],
    *,
    by: _By,
    reason: _Reason,
    dry_run: _DryRun = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Undo the last switch of a slot; on record, and undone by doing it again."""
    switch = roll_back(opened(bank).path, slot, Mover(by, reason, datetime.now(UTC), dry_run))
    raise typer.Exit(tell_switch(switch, slot, dry_run=dry_run, as_json=as_json))


@app.command()
def select(
    *, domain: _Domain = None, package: _Chosen = None, bank: Bank = None, as_json: Json = False
) -> None:
    """Say which package a new task takes: the current one of its domain, else the stable one."""
    held = opened(bank)
    found = select_package(read_registry(held.path), domain=domain, asked=package)
    path = require_whole(held.path, read_registry(held.path), found)
    typer.echo(json.dumps({"package": str(found), "path": str(path)}) if as_json else str(found))


@app.command()
def install(
    folder: Annotated[Path, typer.Argument(help="Project folder; skills go to .claude/skills in it.")],
    *,
    domain: _Domain = None,
    package: _Chosen = None,
    dry_run: _DryRun = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Write the skills of the package that a new task takes, or of another, into a project."""
    held = opened(bank)
    registry = read_registry(held.path)
    found = select_package(registry, domain=domain, asked=package)
    written = install_package(require_whole(held.path, registry, found), folder, dry_run=dry_run)
    if as_json:
        paths = [str(path) for path in written]
        typer.echo(json.dumps({"package": str(found), "written": paths, "dry_run": dry_run}))
        return
    for path in written:
        typer.echo(f"{'would write' if dry_run else 'wrote'} {path}")
    typer.echo(f"{len(written)} files of {found}" if written else f"{folder} has the skills of {found}")


@app.command()
def validate(bank: Bank = None, as_json: Json = False) -> None:
    """Check the registry against its record, and every file of every package; exit 1 where one differs."""
    raise typer.Exit(show_checked(opened(bank), as_json=as_json))


@app.command("smoke-test")
def smoke_test(
    package: Annotated[str | None, typer.Argument(metavar="PACKAGE", help="Default: all of them.")] = None,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Compile the sources of packages and compare with the skills in them; exit 1 where they differ."""
    raise typer.Exit(show_smoke(opened(bank), package, as_json=as_json))
