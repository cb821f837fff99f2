"""Findings that are accepted or already known: suppressions and the baseline."""
