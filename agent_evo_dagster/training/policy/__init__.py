"""The embedded policy: its tokenizer, its weights, how they were made, and loading of any policy."""
