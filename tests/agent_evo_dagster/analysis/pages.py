"""Pages of the report, parsed as a reader's tools see them."""

from html.parser import HTMLParser

Element = tuple[str, dict[str, str | None], tuple[str, ...]]  # tag, attributes, tags around it
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Outline(HTMLParser):
    """Tags, attributes, headings, links and text of a page; fails on tags that do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.elements: list[
            tuple[str, dict[str, str | None], tuple[str, ...]]
        ] = []  # tag, attributes, parents
        self.text = ""
        self.texts: list[tuple[str, str]] = []  # the innermost tag, its text
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.elements.append((tag, dict(attrs), tuple(self._open)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data
        self.texts.append((self._open[-1] if self._open else "", data))

    def values(self, name: str) -> list[str]:
        """Every value of one attribute."""
        return [value for key, value in self.attributes if key == name and value is not None]

    @property
    def levels(self) -> list[int]:
        """The levels of the headings, in order."""
        return [int(tag[1]) for tag in self.tags if tag in {"h1", "h2", "h3", "h4", "h5", "h6"}]
