"""Hostile input: it costs itself, and nothing else."""
