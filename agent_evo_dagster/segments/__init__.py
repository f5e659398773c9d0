"""Segments: stretches of a trajectory with one purpose. One segmenter per file."""
