"""Boundaries that limit a failure to its host, cloud or file, so that the run continues."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from typing import TypeVar

from vnicaudit.base.deadlines import FILE_SECONDS, OutOfTime, is_timed, within
from vnicaudit.errors import TargetError, VnicauditError
from vnicaudit.model.report import LostRead, ReadError, failure_kind

T = TypeVar("T")


def guarded(place: str, items: Iterator[T]) -> Iterator[T | ReadError]:
    """``items``, followed by a ReadError if reading them failed. ``place`` is the name that the
    user gave."""
    try:
        yield from items
    except TargetError as error:
        yield _unread(error)
    except OSError as error:
        yield LostRead(error.strerror or str(error), place, failure="broken")
    except VnicauditError:
        raise
    except Exception as error:  # an edge: a host's failure does not stop the run
        text = f"unexpected failure: {type(error).__name__}: {error}"
        yield LostRead(text, place, failure="internal")


def _unread(error: TargetError) -> ReadError:
    kind = failure_kind(error.failure)
    if kind is None:
        return ReadError(error.message, error.file, error.line)
    return LostRead(error.message, error.file, error.line, kind)


_GUEST = r"[A-Za-z0-9][\w-]*"
"""A name that may be that of a guest rather than of a file."""


def _reason(error: OSError, path: str) -> str:
    reason = error.strerror or str(error)
    if error.errno == errno.ENOENT and re.fullmatch(_GUEST, path):
        return f"{reason}. A guest? vnicaudit audit qemu:///system --domain {path}"
    return reason


def guarded_file(
    path: str, items: Iterator[T], seconds: float = FILE_SECONDS
) -> Iterator[T | ReadError]:
    """``items`` of one file or process, followed by a ReadError if reading failed: because of an
    error in it, an exception of a library, or the deadline."""
    try:
        yield from within(seconds, items)
    except OSError as error:
        yield ReadError(_reason(error, path), path)
    except TargetError as error:
        yield ReadError(error.message, error.file or path, error.line)
    except VnicauditError:
        raise
    except MemoryError:
        yield ReadError("not enough memory to read it", path)
    except RecursionError:  # readers have limits of their own: this is for one that lacks them
        yield ReadError("nested too deeply to be read; please report this", path)
    except OutOfTime:
        if is_timed():
            raise  # an enclosing deadline is over
        yield ReadError(f"took more than {seconds:.0f} s of CPU time to read: given up", path)
    except Exception as error:  # an edge: a file's failure does not stop the run
        if os.environ.get("VNICAUDIT_DEBUG"):
            raise
        # without the error's text: it may quote a line with a password
        yield ReadError(f"could not be read ({type(error).__name__}); please report this", path)
