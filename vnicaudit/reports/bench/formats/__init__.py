"""Formats of a measurement: each module in this folder is one."""
