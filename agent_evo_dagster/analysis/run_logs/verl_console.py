"""What verl prints: lines `step:3 - actor/entropy:0.27 - critic/score/mean:0.1`, among much else."""

import re
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.analysis.run_logs.types import LogBook, MetricLog

_LOOKED_AT = 4 << 20  # bytes of the beginning: a run may print a lot before its first step
_LINE = re.compile(r"(?:^|\s)step:(\d{1,12}) - (.*)")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_NUMBER = re.compile(
    r"(?:np\.\w+\()?([-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|nan|inf(?:inity)?))\)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class VerlConsole:
    """A text file with such lines; every other line is passed over."""

    name: str = "verl console"

    def recognises(self, path: Path) -> bool:
        """Whether there is a line of a step with a metric in the beginning."""
        with path.open("rb") as stream:
            text = stream.read(_LOOKED_AT).decode(errors="replace")
        return any("/" in found[2] for line in text.splitlines() if (found := _LINE.search(line)))

    def read(self, path: Path) -> MetricLog:
        """The whole file; a value that is no number is counted, as is a last line that was cut off."""
        book = LogBook()
        with path.open("rb") as stream:
            for raw in stream:
                found = _LINE.search(_ANSI.sub("", raw.decode(errors="replace")))
                if found and (step := book.step(int(found[1]))) is not None:
                    self._values(step, found[2].strip(), book, whole=raw.endswith(b"\n"))
        return book.log(self.name)

    def _values(self, step: int, text: str, book: LogBook, *, whole: bool) -> None:
        parts = text.split(" - ")
        if not whole:
            parts.pop()  # a number may have lost its end
            book.broken["cut off"] += 1
        for part in parts:
            name, separator, value = part.rpartition(":")
            number = _NUMBER.fullmatch(value.strip())
            if separator and number:
                book.value(step, name.strip(), float(number[1]))
            else:
                book.broken["no number"] += 1
