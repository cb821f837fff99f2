"""Hostile input: it costs itself and nothing else, and nothing secret is shown."""
