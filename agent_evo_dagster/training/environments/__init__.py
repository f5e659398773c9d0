"""Environments: the tasks an agent is given, the tools it may call, and how the outcome is scored."""
