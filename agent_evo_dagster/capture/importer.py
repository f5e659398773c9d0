"""Folders of recorded sessions become spool files, each by the source that it is of. Not their meaning.

Lines are copied as they are, broken ones too: what cannot be read is for the reader to count. Importing the
same folder again adds nothing; importing one that has grown adds what is new.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from agent_evo_dagster.capture.copies import keep
from agent_evo_dagster.capture.fields import FieldError, at_of, parse
from agent_evo_dagster.capture.names import NO_SESSION, safe_name
from agent_evo_dagster.capture.sources.registry import sources
from agent_evo_dagster.capture.spool_names import HOOKS
from agent_evo_dagster.errors import CaptureError

_SNIFFED_LINES = 50
_MOST_BYTES = 256 << 20  # of a document that is parsed as a whole


@dataclass(slots=True)
class ImportReport:
    """What an import did with each file that it found."""

    sessions: set[str] = field(default_factory=set)  # names of the spool files that hold what was found
    files: int = 0  # recordings that were read
    added_lines: int = 0
    known_lines: int = 0  # were in the spool already
    skipped: list[tuple[str, str]] = field(default_factory=list)  # file, why


def import_sessions(source: Path, spool: Path) -> ImportReport:
    """Bring the recordings at `source`, a file or a folder of any depth, into the spool.

    Raises:
        CaptureError: there is nothing at `source` that can be imported.
    """
    if not source.exists():
        raise CaptureError(
            f"There is nothing at {source}. Name a folder of recorded sessions, or one such file."
        )
    report = ImportReport()
    recorded: dict[str, list[tuple[int, bytes]]] = {}
    for path in _candidates(source):
        records = _first_records(path)
        found = next((kind for kind in sources() if kind.recognises(records)), None)
        if found is None and path.suffix == ".json":
            continue  # folders of sessions hold many, of other kinds
        if found is None:
            report.skipped.append((str(path), "holds no records of a source that is known"))
            continue
        report.files += 1
        target = found.target(path, records)
        if target is None:
            _collect(path, recorded)
        else:
            _keep(path, spool, target, report)
    for name, lines in sorted(recorded.items()):
        report.sessions.add(name)
        _append_new(spool / HOOKS / f"{name}.jsonl", lines, report)
    if not report.files:
        raise CaptureError(
            f"{source} holds no session that can be imported ({len(report.skipped)} files were looked at). "
            "A session is a *.jsonl file of hook records, a transcript of Claude Code (<session>.jsonl), "
            "<session>/events.jsonl of the older layout, or an ATIF document (*.json)."
        )
    return report


def _candidates(source: Path) -> Iterator[Path]:
    """The files to look at; links are not followed, so that nothing outside of `source` is read."""
    if source.is_file():
        yield source
        return
    for path in sorted([*source.rglob("*.jsonl"), *source.rglob("*.json")]):
        if path.is_file() and not path.is_symlink():
            yield path


def _first_records(path: Path) -> list[Mapping[str, object]]:
    """The objects among the first lines."""
    records: list[Mapping[str, object]] = []
    if path.suffix == ".json":
        return _document(path)
    with path.open("rb") as stream:
        for _, line in zip(range(_SNIFFED_LINES), stream, strict=False):
            try:
                record = parse(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                records.append(record)
    return records


def _document(path: Path) -> list[Mapping[str, object]]:
    """The object that a file is as a whole."""
    try:
        record = parse(path.read_bytes()) if path.stat().st_size <= _MOST_BYTES else None
    except ValueError:
        return []
    return [record] if isinstance(record, dict) else []


def _collect(path: Path, recorded: dict[str, list[tuple[int, bytes]]]) -> None:
    """Sort the lines of a recording by session; one that names none stays with the line before it."""
    name, at = NO_SESSION, 0
    for line in path.read_bytes().split(b"\n"):
        if not line.strip():
            continue
        try:
            record = parse(line)
            hook = record["hook"] if isinstance(record, dict) else {}
            name = safe_name(hook["session_id"])
            at = at_of(record["captured_at"]) if isinstance(record, dict) else at
        except (ValueError, KeyError, TypeError, FieldError):
            pass
        recorded.setdefault(name, []).append((at, line))


def _append_new(path: Path, lines: list[tuple[int, bytes]], report: ImportReport) -> None:
    """Append the lines that the spool file lacks, in the order of their times, as the hook would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        present = stream.read()
        known = set(present.split(b"\n"))
        new = [line for _, line in sorted(lines, key=lambda item: item[0]) if line not in known]
        report.known_lines += len(lines) - len(new)
        report.added_lines += len(new)
        if new:
            lead = b"\n" if present and not present.endswith(b"\n") else b""
            stream.write(lead + b"\n".join(new) + b"\n")


def _keep(path: Path, spool: Path, target: str, report: ImportReport) -> None:
    """Keep the file as it is; a longer version of one that is there takes its place."""
    copied = keep(path, spool, target)
    report.added_lines += copied.added.count(b"\n")
    report.known_lines += copied.known
    if copied.problem is not None:
        report.skipped.append((str(path), copied.problem))
        return
    report.sessions.add(PurePosixPath(target).parts[1])
