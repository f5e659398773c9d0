"""Patches: proposed edits of skills, the gate that judges them, and the record of decisions."""
