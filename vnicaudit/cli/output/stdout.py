"""Standard output, which may be closed or full, or have lost its reader."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from vnicaudit.errors import ReaderGoneError, UsageError, VnicauditError


def emit(text: str) -> None:
    """Write to standard output.

    Raises ReaderGoneError if nobody reads it any more, VnicauditError if it cannot be written.
    """
    try:
        stream().write(text)
    except OSError as error:
        raise write_error(error, "standard output") from None


def flush() -> None:
    """Flush standard output. Raises the errors of :func:`emit`."""
    try:
        stream().flush()
    except OSError as error:
        raise write_error(error, "standard output") from None


def discard() -> None:
    """Drop what standard output would not take, so that Python does not try again and complain at
    exit. Whatever can still be written is written."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def stream() -> TextIO:
    """Standard output. Raises UsageError if it is closed (``>&-``)."""
    if sys.stdout is None:
        raise UsageError("standard output is closed: there is nowhere to write")
    return sys.stdout


def write_error(error: OSError, name: str) -> VnicauditError:
    """The error to raise for a failed write to standard output."""
    if isinstance(error, BrokenPipeError):
        return ReaderGoneError(f"{name} was closed by its reader")
    return VnicauditError(f"{name} could not be written: {error.strerror}")
