"""The settings file: its location, its keys and its contents."""

from __future__ import annotations

OWN = "vnicaudit.toml"
SHARED = "pyproject.toml"
"""A file of several programs, with a table for this one."""
