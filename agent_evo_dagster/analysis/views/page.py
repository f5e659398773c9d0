"""The shape of a report: what both the HTML and the Markdown are written from. No content, no markup."""

from dataclasses import dataclass, field

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a caption; `numeric` are the columns that are set to the right.

    Where there are links, one for each row, the first cell of the row leads there, unless it is empty. What
    is folded is opened by whoever wants it.
    """

    caption: str
    columns: Row
    rows: tuple[Row, ...]
    numeric: frozenset[int] = frozenset()
    empty: str = "None."
    anchor: str = ""
    links: tuple[str, ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """One figure that a reader must not miss."""

    title: str
    figure: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The round in one line, and the sentences that give its figures."""

    headline: str
    sentences: tuple[str, ...]
    tone: str  # "good" | "bad" | "even"


@dataclass(frozen=True, slots=True)
class Reference:
    """A place of the page, and what a reader finds there."""

    anchor: str
    words: str


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a trajectory, its texts bounded; `findings` are those that it is evidence of, or none."""

    anchor: str
    number: int  # its place in the trajectory
    title: str
    gist: str  # its first text in a line
    outcome: str  # Outcome, or empty where it is no call
    facts: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]  # label, text
    findings: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some steps of one agent in one session, in their order."""

    session: str  # the beginning of its id
    title: str
    note: str
    steps: tuple[StepView, ...]


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding for people; its evidence are ids to look up, and some places of the page that show them."""

    finding_id: str
    severity: str
    kind: str
    summary: str
    count: int
    confidence: str
    target: str
    hint: str
    evidence: tuple[str, ...]
    places: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class FindingList:
    """The findings that are shown, and how many more there are in the asset named."""

    shown: tuple[FindingView, ...]
    more: int
    asset: str


@dataclass(frozen=True, slots=True)
class PatchView:
    """A proposed patch with all that is known of it."""

    patch_id: str
    target: str
    place: str  # the same in words
    description: str
    base_hash: str  # of the section's text before the patch
    result_hash: str  # of it after the patch alone
    changes: tuple[tuple[str, str, str], ...]  # setting, old, new
    findings: tuple[str, ...]
    gate: str
    compared: str  # what the judge compared; empty where it was not judged
    cost: str  # of judging
    standing: str  # one of views.life.STANDINGS: where it stands now
    decided: str
    since: str  # what ended that decision since; empty where it holds
    history: tuple[str, ...]  # what the record says of it, in order
    diff: str
    commands: tuple[str, ...]  # to decide, while it waits
    ways: tuple[tuple[str, str], ...]  # what can be done about it, and the command
    reasons: tuple[Reference, ...] = ()  # what each finding says; without an anchor where it is not shown


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of a series: SVG and PNG of one drawing, its content in words, and in a line of bars."""

    name: str
    title: str
    alt: str
    line: str
    svg: bytes = field(repr=False)
    png: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Page:
    """A report."""

    round_key: str
    facts: tuple[tuple[str, str], ...]  # of the round: opened, seed, request
    verdict: Verdict
    cards: tuple[Card, ...]
    plots: tuple[Plot, ...]
    patches: tuple[PatchView, ...]
    not_proposed: Table  # what was asked for besides, and why no patch does it
    ledger: Table
    seeds: Table  # what each seed of the gate says
    later: tuple[Table, ...]  # of patches of earlier rounds: replayed, taken out
    training_findings: FindingList
    metrics: Table  # that they rest on
    session_findings: FindingList
    excerpts: tuple[Excerpt, ...]
    policy: tuple[Table, ...]
    sessions: tuple[Table, ...]
    provenance: tuple[Table, ...]
    commands: tuple[tuple[str, str], ...]  # what it does, the command


@dataclass(frozen=True, slots=True)
class AllRounds:
    """The page over all rounds."""

    verdict: Verdict
    cards: tuple[Card, ...]
    plots: tuple[Plot, ...]
    tables: tuple[Table, ...]
    commands: tuple[tuple[str, str], ...]
