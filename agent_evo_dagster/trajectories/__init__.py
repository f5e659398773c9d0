"""Trajectories: the events of one agent, in order, with an outcome for each call. Not their grouping."""
