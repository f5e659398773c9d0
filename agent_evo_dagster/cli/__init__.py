"""Commands that a person types. Thin: each calls one function of a room."""
