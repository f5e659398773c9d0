"""Measurements: `python -m benchmarks.NAME` prints its figures, as one JSON line last. No tests."""
