"""Who decides on a judged patch: one small class for each policy. What is decided stands in the ledger."""

from typing import Final, Protocol

from agent_evo_dagster.patches.types import DecisionVerdict, GateVerdict
from agent_evo_dagster.settings import ApprovalPolicy


class Policy(Protocol):
    """A rule that decides, or leaves it to a person."""

    @property
    def name(self) -> str:
        """What the record says: `policy:<name>`."""

    def decide(
        self, gate: GateVerdict, *, settings_only: bool, gate_reason: str
    ) -> tuple[DecisionVerdict, str]:
        """The decision and its reason."""


class Auto:
    """Follows the gate where it can measure; a patch that touches more than settings, a person reads."""

    name = "auto"

    def decide(
        self, gate: GateVerdict, *, settings_only: bool, gate_reason: str
    ) -> tuple[DecisionVerdict, str]:
        """Approve what was accepted and touches settings only; reject what was rejected; else wait."""
        if gate in (GateVerdict.REJECT, GateVerdict.REJECT_UNVERIFIED):
            return "reject", f"the gate says {gate.value}: {gate_reason}"
        if gate is GateVerdict.ACCEPT and settings_only:
            return "approve", f"the gate says accept: {gate_reason}"
        if gate is GateVerdict.ACCEPT:
            return "wait", "the gate accepts, but the patch touches more than settings: a person decides"
        return "wait", f"a person decides: {gate_reason}"


class Manual:
    """A person decides on every patch."""

    name = "manual"

    def decide(
        self, gate: GateVerdict, *, settings_only: bool, gate_reason: str
    ) -> tuple[DecisionVerdict, str]:
        """Always wait."""
        touches = "settings only" if settings_only else "more than settings"
        return "wait", f"a person decides; it touches {touches}; the gate says {gate.value}: {gate_reason}"


class TwoPerson:
    """Two different people must approve every patch; one who rejects it ends it."""

    name = "two_person"

    def decide(
        self, gate: GateVerdict, *, settings_only: bool, gate_reason: str
    ) -> tuple[DecisionVerdict, str]:
        """Always wait."""
        touches = "settings only" if settings_only else "more than settings"
        return (
            "wait",
            f"two people decide; it touches {touches}; the gate says {gate.value}: {gate_reason}",
        )


_STRICTEST: Final[tuple[ApprovalPolicy, ...]] = ("two_person", "manual", "auto")


def policy_named(name: ApprovalPolicy) -> Policy:
    """The policy of a setting's value."""
    policies: dict[ApprovalPolicy, Policy] = {"auto": Auto(), "manual": Manual(), "two_person": TwoPerson()}
    return policies[name]


def strictest(*names: str) -> ApprovalPolicy:
    """Of several policies that all want to be heard, the one that lets least through unattended."""
    return next(policy for policy in _STRICTEST if policy in names)


def people_needed(name: ApprovalPolicy) -> int:
    """How many different people must approve; none, where a policy alone may."""
    needed: dict[ApprovalPolicy, int] = {"auto": 0, "manual": 1, "two_person": 2}
    return needed[name]
