"""The library: what a round of evolution is made of. It knows neither Dagster nor the rooms around it."""
