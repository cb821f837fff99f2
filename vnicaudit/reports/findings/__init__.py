"""Findings as text: one by one, or grouped."""
