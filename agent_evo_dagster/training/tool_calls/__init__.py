"""Tool calls in the text of a model: one format per file. No tool is executed here."""
