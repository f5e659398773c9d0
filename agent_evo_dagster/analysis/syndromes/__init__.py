"""Syndromes of training: signs, and the hypotheses that several of them make together. No single pattern."""
