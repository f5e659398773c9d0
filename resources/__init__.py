"""Shells around library objects, one per neighbour, which Dagster configures. No domain logic."""
