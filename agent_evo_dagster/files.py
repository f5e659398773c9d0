"""Writing files so that a kill at any time leaves the old bytes or the new ones. No formats."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of the file at `path`, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_tree(root: Path) -> str:
    """Hex SHA-256 over the relative names and bytes of all files below `root`, in name order."""
    digest = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        digest.update(f"{path.relative_to(root).as_posix()}\0{sha256_file(path)}\n".encode())
    return digest.hexdigest()


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace `path` by `data` in one step, flushed to the disk before it becomes visible."""
    with _drafted(path, data, mode) as draft:
        draft.replace(path)


def create_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Make `path` of `data` in one step, flushed to the disk; where it is there, it stays as it is."""
    if not path.exists():
        with _drafted(path, data, mode) as draft:
            with contextlib.suppress(FileExistsError):  # another process may have been faster
                path.hardlink_to(draft)
            draft.unlink()


@contextlib.contextmanager
def _drafted(path: Path, data: bytes, mode: int) -> Iterator[Path]:
    """A file beside `path` that is on the disk, to be moved or removed; gone where the block fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(mode)
        yield Path(name)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def replace_tree(staged: Path, target: Path) -> None:
    """Put the finished folder `staged` in the place of `target`; both on one file system."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        retired = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old-"))
        target.replace(retired / "tree")
        staged.replace(target)
        shutil.rmtree(retired)
        return
    staged.replace(target)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file `path`, made if missing, across processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
