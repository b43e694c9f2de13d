"""What a model may call: one tool, one file."""
