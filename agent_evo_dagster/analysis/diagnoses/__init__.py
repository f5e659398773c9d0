"""Training diagnoses: one pattern of trouble a file, from metrics and rollouts. No session evidence."""
