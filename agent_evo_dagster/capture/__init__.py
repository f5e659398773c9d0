"""Capture: hook records, transcripts and older files become events. Not the order or the meaning of events."""
