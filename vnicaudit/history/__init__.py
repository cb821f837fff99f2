"""The history of a fleet: a place is opened here, if the libraries for it are installed; they are
loaded only then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vnicaudit.history.place import PATIENCE, HistoryPlace, NothingStoredError, check_extras

if TYPE_CHECKING:
    from vnicaudit.history.history import History

OPTIONAL_PATIENCE = 2.0
"""Seconds to wait for a lock or a connection if the history is only an addition to other work."""


@contextmanager
def history_to_write(place: HistoryPlace) -> Iterator[History]:
    """Open a history for storing. A missing file, and missing tables, are created. Raises
    UsageError, MissingExtraError, HistoryError."""
    with _opened(place, read_only=False) as history:
        history.database.prepare()
        yield history


@contextmanager
def history_to_read(place: HistoryPlace) -> Iterator[History]:
    """Open a history for queries; nothing is written. Raises UsageError (also if there is none),
    MissingExtraError, HistoryError."""
    with _opened(place, read_only=True) as history:
        if not (place.exists and history.database.has_tables()):
            raise _nothing_stored(place)
        yield history


@contextmanager
def optional_history(place: HistoryPlace, patience: float = OPTIONAL_PATIENCE) -> Iterator[History]:
    """Open a history for queries by work that can go on without it: a lock or a connection is
    awaited only for ``patience`` seconds. Raises UsageError (also if there is none),
    MissingExtraError, HistoryError."""
    if not place.exists:  # before any library is loaded
        raise _nothing_stored(place)
    with _opened(place, read_only=True, patience=patience) as history:
        if not history.database.has_tables():
            raise _nothing_stored(place)
        yield history


@contextmanager
def _opened(
    place: HistoryPlace, *, read_only: bool, patience: float = PATIENCE
) -> Iterator[History]:
    check_extras(place.kind)
    from vnicaudit.history.history import opened

    with opened(place, read_only=read_only, patience=patience) as history:
        yield history


def _nothing_stored(place: HistoryPlace) -> NothingStoredError:
    return NothingStoredError(
        f"history {place.label}: nothing is stored there yet; `vnicaudit audit -i` stores what "
        "it reads"
    )
