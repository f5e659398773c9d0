"""The hook that Claude Code runs: appends what arrives on stdin to the spool. Reads no meaning into it.

Usage, in a settings file: `/abs/python3 -I -S /abs/capture.py [--spool DIR]`. One record a line goes to
`<spool>/hooks/<session>.jsonl`, as `{"captured_at": <ns>, "hook": <stdin>}`. The spool is DIR, else
`$AGENT_EVO_HOME/spool`, else `$CLAUDE_PROJECT_DIR/.agent_evo/spool`.

The agent is never disturbed: exit status 0, nothing printed, bounded time. What cannot go to the session's
file goes to `_fallback.jsonl` beside it; what cannot be kept at all adds one dot to the file `_lost`.

It runs at every event, so that start-up time counts: `posix` instead of `os`, and the modules that only odd
input needs are imported where it is met.
"""

import posix
import sys
import time

STDIN_SECONDS = 5.0
LOCK_SECONDS = 2.0
SAFE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
MAX_NAME = 120


def main() -> None:
    """Capture one event; whatever goes wrong is counted, never shown."""
    hooks = None
    try:
        hooks = hooks_folder(sys.argv[1:])
        data, complete = read_stdin(time.monotonic() + STDIN_SECONDS)
        if data:
            now = time.time_ns()
            name, record = (complete and plain_record(now, data)) or odd_record(now, data, complete)
            if not append(hooks, name, record) and not append_fallback(hooks, record):
                count_loss(hooks)
    except BaseException:  # even an interrupt from the keyboard: this process must not show that it exists
        count_loss(hooks)
    posix._exit(0)


def hooks_folder(arguments: list[str]) -> str:
    """The folder of the session files, from the command line, else the environment."""
    if len(arguments) > 1 and arguments[0] == "--spool":
        return arguments[1] + "/hooks"
    project = text(posix.environ.get(b"CLAUDE_PROJECT_DIR", b"")) or posix.getcwd()
    home = text(posix.environ.get(b"AGENT_EVO_HOME", b"")) or ".agent_evo"
    return (home if home[0] == "/" else project + "/" + home) + "/spool/hooks"


def text(value: bytes) -> str:
    """A path of the environment as Python's own functions expect it, whatever its bytes."""
    return value.decode(sys.getfilesystemencoding(), "surrogateescape")


def read_stdin(deadline: float) -> tuple[bytes, bool]:
    """All of stdin, and whether its end was seen before the deadline."""
    import select

    parts: list[bytes] = []
    while select.select([0], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = posix.read(0, 1 << 20)
        if not part:
            return b"".join(parts).strip(), True
        parts.append(part)
    return b"".join(parts).strip(), False


def plain_record(now: int, data: bytes) -> "tuple[str, bytes] | None":
    """File name and line for the usual input, which is wrapped unread; None where it takes a closer look.

    The client writes one object on one line, its session id first.
    """
    if not data.startswith(b'{"session_id":') or not data.endswith(b"}"):
        return None
    space, _, rest = data[14 : 20 + MAX_NAME].partition(b'"')
    name, quote, _ = rest.partition(b'"')
    if space.strip() or not quote or not is_safe(name) or b"\n" in data or b"\r" in data:
        return None
    if b"NaN" in data or b"Infinity" in data:
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return name.decode(), wrap(now, data)


def is_safe(name: bytes) -> bool:
    """Whether a session id can be a file name as it is."""
    return 0 < len(name) <= MAX_NAME and not name.translate(None, SAFE) and name[:1] not in b"._-"


def wrap(now: int, hook: bytes) -> bytes:
    """The record's line."""
    return b'{"captured_at":%d,"hook":%b}\n' % (now, hook)


def odd_record(now: int, data: bytes, complete: bool) -> tuple[str, bytes]:
    """File name and line for anything else: an odd id, NaN, line breaks, or bytes that are no JSON object."""
    import json

    try:
        if not complete:
            raise ValueError("stdin was not closed in time")
        hook = json.loads(data.decode("utf-8-sig"), parse_constant=str)
        if not isinstance(hook, dict):
            raise ValueError("not a JSON object")
        if b"NaN" in data or b"Infinity" in data:
            data = json.dumps(hook, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        return "_fallback", raw_record(now, data, str(error))
    # Outside of strings a line break is only white space; inside, JSON does not allow it.
    one_line = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r", b" ").replace(b"\n", b" ")
    return safe_name(hook.get("session_id")), wrap(now, one_line)


def safe_name(session_id: object) -> str:
    """A file name for any session id: itself where it is safe, else its hash."""
    import hashlib
    import json

    if session_id is None:
        return "_no-session"
    if isinstance(session_id, str) and is_safe(session_id.encode("utf-8", "replace")):
        return session_id
    return "_id-" + hashlib.sha256(json.dumps(session_id, sort_keys=True).encode()).hexdigest()[:32]


def raw_record(now: int, data: bytes, reason: str) -> bytes:
    """A line that keeps bytes which are no JSON object."""
    import base64
    import json

    record = {"captured_at": now, "reason": reason[:200], "raw_base64": base64.b64encode(data).decode()}
    return json.dumps(record).encode() + b"\n"


def open_append(folder: str, name: str) -> int:
    """A descriptor at the end of a file of the spool, which is made if it is missing."""
    flags = posix.O_RDWR | posix.O_APPEND | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW
    try:
        return posix.open(folder + "/" + name, flags, 0o600)
    except FileNotFoundError:
        from pathlib import Path

        Path(folder).mkdir(0o700, parents=True, exist_ok=True)
        Path(folder, ".gitignore").write_text("*\n")  # what is captured may hold secrets
        return posix.open(folder + "/" + name, flags, 0o600)


def append(folder: str, name: str, record: bytes) -> bool:
    """Add a line to a file in one write, under its lock; False, and nothing added, if that cannot be done."""
    import fcntl

    try:
        descriptor = open_append(folder, name + ".jsonl")
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.002)
        size = posix.fstat(descriptor).st_size
        if size and posix.pread(descriptor, 1, size - 1) != b"\n":
            record = b"\n" + record  # a writer was killed in the middle of its line
        if posix.write(descriptor, record) == len(record):
            return True
        posix.ftruncate(descriptor, size)
    except OSError:
        pass
    return False


def append_fallback(folder: str, record: bytes) -> bool:
    """Add a line to the fallback file; without a lock, since a lock may be what failed."""
    try:
        # The line break in front keeps the line whole whatever stands before it; empty lines mean nothing.
        line = b"\n" + record
        return posix.write(open_append(folder, "_fallback.jsonl"), line) == len(line)
    except OSError:
        return False


def count_loss(folder: "str | None") -> None:
    """Add a dot to the file of losses: in the spool, else in the folder for temporary files."""
    temporary = text(posix.environ.get(b"TMPDIR", b"")) or "/tmp"
    places = [(temporary, f"agent-evo-lost-{posix.getuid()}")]
    if folder is not None:
        places.insert(0, (folder, "_lost"))
    for place, name in places:
        try:
            if posix.write(open_append(place, name), b".") == 1:
                return
        except OSError:
            continue


if __name__ == "__main__":
    main()
