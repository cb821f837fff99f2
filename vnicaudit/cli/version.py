"""``vnicaudit --version``: printed without loading anything."""

from __future__ import annotations

import sys

from vnicaudit import __version__


def version_line() -> str:
    """The line that ``--version`` prints."""
    return f"vnicaudit {__version__}"


def print_version() -> int:
    """Print the version; returns the exit code."""
    try:
        print(version_line(), flush=True)  # noqa: T201 - the command line is the place to print
    except OSError as error:
        sys.stderr.write(f"Error: standard output could not be written: {error.strerror}\n")
        sys.stdout = None  # nothing to flush at shutdown
        return 3
    return 0
