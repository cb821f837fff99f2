"""Formats of a measurement: a file in this folder is one, found by being here."""
