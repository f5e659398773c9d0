"""Logs of training runs, one kind a file, read into rows of metrics. No judgement."""
