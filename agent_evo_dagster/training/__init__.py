"""Training: configuration, agents, environments, rollouts, backends, and the worker process."""
