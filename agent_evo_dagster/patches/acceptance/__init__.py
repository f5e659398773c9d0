"""Acceptance: from trusted numbers to a verdict, one rule a file. Not where the numbers come from."""
