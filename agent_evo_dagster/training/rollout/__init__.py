"""Rollouts: token in, token out, many at a time, on any causal language model of transformers."""
