"""Writers on one session file that hold its lock to their end, as the hook does: none is lost, none torn."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

HOOK = Path(__file__).parents[2] / "hooks" / "capture.py"
SIZES = (1, 10, 200, 1_000, 4_095, 4_096, 4_097, 65_536, 70_000)
LARGEST = 400_000

# The hook's own writing: a process for each record, since the hook holds its lock until it ends, but a fork.
WRITER = f"""
import os, runpy, sys
hook = runpy.run_path(sys.argv[1])
folder, writer, each = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sizes = {SIZES}
sys.stdin.readline()
for number in range(each):
    size = {LARGEST} if number % 100 == 99 else sizes[(number + writer) % len(sizes)]
    size = size if number % 10 == 0 or size < 5000 else 1
    record = hook["wrap"](number, b'{{"writer":%d,"text":"%b"}}' % (writer, b"x" * size))
    child = os.fork()
    if not child:
        if not hook["append"](folder, "s", record) and not hook["append_fallback"](folder, record):
            hook["count_loss"](folder)
        os._exit(0)
    os.waitpid(child, 0)
"""


def write(folder: Path, writers: int, each: int) -> None:
    """Let `writers` processes begin at once."""
    command = [sys.executable, "-c", WRITER, str(HOOK), str(folder)]
    running = [
        subprocess.Popen([*command, str(number), str(each)], stdin=subprocess.PIPE)
        for number in range(writers)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.close()
    assert [process.wait(600) for process in running] == [0] * writers


def kept(folder: Path) -> Counter[tuple[int, int]]:
    """How often each record of each writer is there, whole."""
    found: Counter[tuple[int, int]] = Counter()
    for path in folder.glob("*.jsonl"):
        with path.open("rb") as stream:
            for line in filter(bytes.strip, stream):
                record = json.loads(line)
                assert set(record["hook"]["text"]) == {"x"}
                found[record["hook"]["writer"], record["captured_at"]] += 1
    return found


def test_no_record_is_lost_and_none_is_torn(tmp_path: Path) -> None:
    folder, writers, each = tmp_path / "hooks", 8, 200
    write(folder, writers, each)
    assert not (folder / "_lost").exists()
    assert kept(folder) == Counter({(writer, n): 1 for writer in range(writers) for n in range(each)})
