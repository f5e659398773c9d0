"""Skills: the bank, the application of patches, and the compiled SKILL.md."""
