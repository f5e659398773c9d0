"""Folders of recorded sessions become spool files: hook recordings, and the older layout. Not their meaning.

Lines are copied as they are, broken ones too: what cannot be read is for the reader to count. Importing the
same folder again adds nothing; importing one that has grown adds what is new.
"""

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agent_evo_dagster.capture.fields import FieldError, at_of, parse
from agent_evo_dagster.capture.names import NO_SESSION, safe_name
from agent_evo_dagster.capture.slices import HOOKS, LEGACY
from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.files import write_atomic

_SNIFFED_LINES = 50
_LEGACY_TYPES = frozenset({"tool_call", "turn_end", "conversation_end"})

Format = Literal["hook", "legacy"]


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
        match _format_of(path):
            case "hook":
                report.files += 1
                _collect(path, recorded)
            case "legacy":
                report.files += 1
                _copy_legacy(path, spool, report)
            case None:
                report.skipped.append(
                    (str(path), "holds neither hook records nor events of the older layout")
                )
    for name, lines in sorted(recorded.items()):
        report.sessions.add(name)
        _append_new(spool / HOOKS / f"{name}.jsonl", lines, report)
    if not report.files:
        raise CaptureError(
            f"{source} holds no session that can be imported ({len(report.skipped)} files were looked at). "
            "A session is a *.jsonl file of hook records, or <session>/events.jsonl of the older layout."
        )
    return report


def _candidates(source: Path) -> Iterator[Path]:
    """The files to look at; links are not followed, so that nothing outside of `source` is read."""
    if source.is_file():
        yield source
        return
    for path in sorted(source.rglob("*.jsonl")):
        if path.is_file() and not path.is_symlink():
            yield path


def _format_of(path: Path) -> Format | None:
    """What the first line that tells anything says."""
    with path.open("rb") as stream:
        for _, line in zip(range(_SNIFFED_LINES), stream, strict=False):
            try:
                record = parse(line)
            except ValueError:
                continue
            if isinstance(record, dict) and isinstance(record.get("hook"), dict):
                return "hook"
            if isinstance(record, dict) and record.get("type") in _LEGACY_TYPES and "timestamp" in record:
                return "legacy"
    return None


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


def _copy_legacy(path: Path, spool: Path, report: ImportReport) -> None:
    """Keep the file as it is; a longer version of one that is there takes its place."""
    name = safe_name(path.parent.name)
    target = spool / LEGACY / name / "events.jsonl"
    data, status = path.read_bytes(), path.stat()
    present = target.read_bytes() if target.exists() else b""
    if present.startswith(data) and present:
        report.known_lines += data.count(b"\n")
    elif data.startswith(present):
        write_atomic(target, data, mode=0o600)  # not redacted yet
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        report.known_lines += present.count(b"\n")
        report.added_lines += data.count(b"\n") - present.count(b"\n")
    else:
        report.skipped.append((str(path), f"differs from {target}, which the spool holds for this session"))
        return
    report.sessions.add(name)
