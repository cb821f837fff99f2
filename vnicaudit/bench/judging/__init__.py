"""Samples in, comparisons and a decision out; pure."""
