"""Packages: frozen states of a bank or a round, the registry that names the current ones, and their life."""
