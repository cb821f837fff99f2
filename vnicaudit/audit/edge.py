"""The edge at which the failure of a host or a cloud costs that target, and not the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from vnicaudit.errors import TargetError, VnicauditError
from vnicaudit.model.report import ReadError

T = TypeVar("T")


def guarded(place: str, items: Iterator[T]) -> Iterator[T | ReadError]:
    """``items``, and a ReadError where reading them came to an early end. ``place`` is what the
    user named."""
    try:
        yield from items
    except TargetError as error:
        yield ReadError(error.message, error.file, error.line)
    except VnicauditError:
        raise
    except Exception as error:  # an edge: a host's failure costs that host, not the run
        yield ReadError(f"unexpected failure: {type(error).__name__}: {error}", place)
