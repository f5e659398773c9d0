"""Dagster assets and checks, one file per noun of the library. Thin: read, one library call, metadata."""
