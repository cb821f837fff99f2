"""Findings -> a plan: what would be changed, for whom, and what the guest will see of it."""
