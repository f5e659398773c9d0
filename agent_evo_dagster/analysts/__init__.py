"""Analysts: what reads a round's findings and drafts patches. What becomes a patch is decided in patches."""
