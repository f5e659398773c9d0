"""Rounds: the manifest that freezes a round's input, its status, and its lineage."""
