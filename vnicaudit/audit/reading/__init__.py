"""Targets and files -> their items, joined if several sources describe one thing."""
