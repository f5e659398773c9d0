"""Session detectors: one kind of trouble a file, each from structured outcomes. No training metrics."""
