"""Identifiers of trajectories and steps: hashes of what they are made of. No counters, no clocks."""

import hashlib


def trajectory_id(session_id: str, agent_id: str | None) -> str:
    """The identifier of one agent's trajectory in one session."""
    return f"t-{_digest(session_id, agent_id or '')}"


def step_id(trajectory: str, origin: str) -> str:
    """The identifier of a step that begins with `origin`: an event id, or one with a call's place in it."""
    return f"s-{_digest(trajectory, origin)}"


def _digest(*parts: str) -> str:
    # surrogatepass: a lone surrogate in captured text must not stop a session from being read
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
