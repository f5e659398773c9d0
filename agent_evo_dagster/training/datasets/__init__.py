"""Data sets: where tasks come from, which rows are dropped and why, and to which split each belongs."""
