"""Rollouts with the text of a skill: tasks, who reads the text, and pairs of runs. No verdict."""
