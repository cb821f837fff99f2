"""Findings -> a plan: the changes to make, the guests concerned, and what these will notice."""
