"""Queries: what all rounds stored, as SQL views for reading. Nothing is computed here that a round needs."""
