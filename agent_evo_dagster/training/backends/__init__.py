"""Training libraries behind a run, one file each."""
