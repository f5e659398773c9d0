"""The lines of the decisions ledger. How they are kept and who may write them is not known here."""

from typing import Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from agent_evo_dagster.patches.chain import Entry
from agent_evo_dagster.patches.document import idea_of, parse_patch
from agent_evo_dagster.patches.types import FinalVerdict, GateVerdict, Patch


class _Record(BaseModel):
    """What every line has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: AwareDatetime
    prev: str = Field(default="", description="Hash of the record before.")
    hash: str = Field(default="", description="SHA-256 of this record without this field.")


class DecisionRecord(_Record):
    """A final word on a patch."""

    kind: Literal["decision"] = "decision"
    patch_id: str
    diff_hash: str = Field(description="What was decided on: `change.diff_hash` of the patch.")
    decision: FinalVerdict = Field(
        description="withdraw: taken back before it was adopted; expire: waited too long."
    )
    by: str = Field(min_length=1, max_length=200, description="A person, or `policy:<name>`.")
    gate_verdict: GateVerdict | None = Field(description="Null: decided without evidence.")
    reason: str = Field(min_length=1, max_length=2000)
    round: str | None = Field(description="The round whose evidence was read.")
    idea: str | None = Field(
        default=None, description="Hash of what the patch says, whatever text it was made against."
    )
    override: bool = Field(default=False, description="Approved against the gate, knowingly.")

    def rejects(self, patch: Patch) -> bool:
        """Whether it rejects the edit that `patch` makes, though the section may have changed since."""
        return self.decision == "reject" and self.idea is not None and self.idea == idea_of(patch)


class ConsentRecord(_Record):
    """One person's approval where two must approve, or a second one beside a decision that stands."""

    kind: Literal["consent"] = "consent"
    patch_id: str
    diff_hash: str
    by: str = Field(min_length=1, max_length=200)
    gate_verdict: GateVerdict | None
    reason: str = Field(min_length=1, max_length=2000)
    round: str | None
    override: bool = False


class MadeRecord(_Record):
    """A patch that a person had made of others: of two, or of one whose section had changed.

    Nothing is decided by it: the next round takes the patch up and judges it like any other.
    """

    kind: Literal["made"] = "made"
    patch_id: str
    document: str = Field(description="The patch file, whole.")
    base: str = Field(description="The section's text that it was made against.")
    sources: dict[str, str] = Field(description="The patches that it was made of, with their diff hashes.")
    replaces: str | None = Field(
        default=None, description="The one of them in whose place it was made: its end is no end of this one."
    )
    by: str = Field(min_length=1, max_length=200)

    def patch(self) -> Patch:
        """The patch that was made.

        Raises:
            PatchError: the document is not one of a patch.
        """
        return parse_patch(self.document, origin=f"the record of {self.patch_id}")


class AdoptionRecord(_Record):
    """An approved patch that was written to the bank."""

    kind: Literal["adoption"] = "adoption"
    patch_id: str
    decision_hash: str
    compiled: dict[str, str] = Field(description="SHA-256 of each skill file that it changed.")


class RollbackRecord(_Record):
    """A skill that was brought back to another version: patches were taken out, or put back in."""

    kind: Literal["rollback"] = "rollback"
    skill: str
    before: str | None = Field(description="SHA-256 of the skill file until then; null: it did not compile.")
    after: str = Field(description="SHA-256 of the skill file from then on.")
    round: str | None = Field(default=None, description="The round that regressed; null: a person went back.")
    removed: tuple[str, ...] = Field(description="Patches that were taken out.")
    restored: tuple[str, ...] = Field(description="Patches that were put back.")
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


class PackageRecord(_Record):
    """A package that became, or ceased to be, the current one of its slot in the registry."""

    kind: Literal["package"] = "package"
    slot: str = Field(description="`stable`, or `vertical/<domain>`.")
    action: Literal["freeze", "promote", "use", "rollback"]
    before: str | None
    after: str | None
    sha256: str | None = Field(description="Of the package.json of `after`; null: there is none.")
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


Record: TypeAlias = Annotated[
    DecisionRecord | ConsentRecord | MadeRecord | AdoptionRecord | RollbackRecord | PackageRecord,
    Field(discriminator="kind"),
]


def read_record(entry: Entry) -> Record:
    """The typed record of a ledger line.

    Raises:
        ValueError: a kind or a field that this version does not know.
    """
    adapter: TypeAdapter[Record] = TypeAdapter(Record)
    return adapter.validate_python(entry)


def payload(record: Record) -> Entry:
    """The record as it is appended: without what binds it to its neighbours."""
    return dict(record.model_dump(mode="json", exclude={"prev", "hash"}))
