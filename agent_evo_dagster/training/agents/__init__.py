"""Agents: what is said first, what a turn asks for, what is kept of a long conversation."""
