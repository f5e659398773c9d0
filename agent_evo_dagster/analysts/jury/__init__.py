"""The jury: a model that compares two texts by a rubric. What its votes lead to is in patches."""
