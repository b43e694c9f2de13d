"""Pictures of a session: text, DOT, SVG, HTML and the live widget."""
