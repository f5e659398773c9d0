"""The one partition key of the graph: the round. It lies below the assets, which all carry it."""

import dagster as dg

# One object per process: Dagster compares partitions by this name.
EVOLUTION_ROUNDS = dg.DynamicPartitionsDefinition(name="evolution_rounds")
