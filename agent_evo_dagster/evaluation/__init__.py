"""Evaluation: splits, scores and intervals. Pure statistics: no model runs here."""
