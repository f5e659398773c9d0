"""Identifiers of segments: hashes of the step that a segment begins with, so that its growth changes none."""

import hashlib


def segment_id(trajectory_id: str, first_step_id: str) -> str:
    """The identifier of the segment that begins with a step; steps belong to one segment each."""
    made_of = f"{trajectory_id}\0{first_step_id}"
    return f"g-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"
