"""Sources of events, one file each: how a file is told to be of it, and how it is read. Not their joining."""
