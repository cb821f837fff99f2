"""Endpoints, the places where generators run: one file per transport."""
