"""Skill documents: front matter, free text and marked sections, parsed and printed byte for byte."""

from dataclasses import dataclass

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.fences import Line, marker_of, scan
from agent_evo_dagster.patches.front_matter import split_front_matter


@dataclass(frozen=True)
class Free:
    """Text outside every section."""

    text: str


@dataclass(frozen=True)
class Section:
    """Text that patches can address by name, between its two marker lines."""

    name: str
    opening: str  # the marker line, with its end
    text: str
    closing: str
    line: int  # of the opening marker in the file


@dataclass(frozen=True)
class SkillDocument:
    """One base file. `head` is the front matter with its fences."""

    head: str
    pieces: tuple[Free | Section, ...]

    def section(self, name: str) -> Section | None:
        """The section called `name`, if there is one."""
        return next((piece for piece in self.sections() if piece.name == name), None)

    def sections(self) -> list[Section]:
        """All sections, in the order of the file."""
        return [piece for piece in self.pieces if isinstance(piece, Section)]


def print_document(document: SkillDocument) -> str:
    """The file again, exactly."""
    parts = [document.head]
    for piece in document.pieces:
        parts += [piece.text] if isinstance(piece, Free) else [piece.opening, piece.text, piece.closing]
    return "".join(parts)


def parse_document(text: str, *, origin: str) -> SkillDocument:
    """Cut a base file into its pieces; markers within code fences are text.

    Raises:
        SkillBankError: no front matter, or sections that are not well formed, with file and line.
    """
    cut = split_front_matter(text)
    if cut is None:
        raise SkillBankError(
            f"{origin}, line 1: no front matter; begin with `---`, name, description, and `---` again."
        )
    return SkillDocument(cut.head, tuple(_Cutter(origin, cut.head.count("\n")).cut(cut.body)))


class _Cutter:
    """Collects lines into pieces, one marker after another."""

    def __init__(self, origin: str, head_lines: int) -> None:
        self._origin = origin
        self._head_lines = head_lines
        self._pieces: list[Free | Section] = []
        self._names: dict[str, int] = {}
        self._lines: list[str] = []
        self._opening: tuple[str, str, int] | None = None  # name, marker line, line number

    def cut(self, body: str) -> list[Free | Section]:
        """All pieces of `body`."""
        for line in scan(body):
            marker = marker_of(line)
            if marker is None:
                self._lines.append(line.text)
            elif marker.name is None:
                raise self._error(line, f"not a section marker: {line.text.strip()!r}; write {_FORM}")
            elif marker.closing:
                self._close(line, marker.name)
            else:
                self._open(line, marker.name)
        if self._opening is not None:
            name, _, number = self._opening
            raise SkillBankError(
                f"{self._origin}, line {number}: section {name!r} is never closed; end it with a line "
                f"`<!-- /section:{name} -->` outside any code fence."
            )
        self._flush()
        return self._pieces

    def _open(self, line: Line, name: str) -> None:
        if self._opening is not None:
            raise self._error(
                line, f"section {name!r} opens within section {self._opening[0]!r}; close that first"
            )
        if name in self._names:
            raise self._error(line, f"section {name!r} was already on line {self._names[name]}; rename one")
        self._flush()
        self._names[name] = line.number + self._head_lines
        self._opening = (name, line.text, line.number + self._head_lines)

    def _close(self, line: Line, name: str) -> None:
        if self._opening is None or self._opening[0] != name:
            inside = f"inside section {self._opening[0]!r}" if self._opening else "outside any section"
            raise self._error(
                line, f"section {name!r} is closed {inside}; remove this line or open it before"
            )
        _, opening, number = self._opening
        self._pieces.append(Section(name, opening, "".join(self._lines), line.text, number))
        self._lines, self._opening = [], None

    def _flush(self) -> None:
        if self._lines:
            self._pieces.append(Free("".join(self._lines)))
            self._lines = []

    def _error(self, line: Line, what: str) -> SkillBankError:
        return SkillBankError(f"{self._origin}, line {line.number + self._head_lines}: {what}.")


_FORM = "`<!-- section:name -->` or `<!-- /section:name -->`, lower-case words joined by hyphens"
