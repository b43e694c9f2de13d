"""Sessions: one append-only log of entries, read as a tree. Knows no model, no HTTP, no Jupyter."""
