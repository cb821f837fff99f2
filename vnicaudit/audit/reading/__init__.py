"""Targets and files -> what they describe, joined where several sources tell of one thing."""
