"""Capture: hook records, transcripts and older files become events. Not their order or meaning."""
