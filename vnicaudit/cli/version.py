"""``vnicaudit --version``: answered without loading anything."""

from __future__ import annotations

from vnicaudit import __version__


def version_line() -> str:
    """What ``--version`` prints."""
    return f"vnicaudit {__version__}"


def print_version() -> None:
    """Print it."""
    print(version_line())  # noqa: T201 - the command line is the one place that prints
