"""The result of every ``nova-manage image_property set``, as the journal of a server records it.

nova-manage saves the instance and then its request specification (``_update_image_properties`` in
nova/cmd/manage.py, Nova 34.0.0), and the second cannot be read anywhere: both are known to be saved
only if it ended with 0. A line ``setting`` is followed by ``set`` (it ended with 0), ``not set``
(it saved nothing), ``half set`` (it ended, and may have saved one of the two), or by none of them:
its result is unknown, and it may still be working.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vnicaudit.remedy.applying.journal.events import (
    HalfSet,
    NotSet,
    Properties,
    Set,
    Setting,
    Settled,
)
from vnicaudit.remedy.applying.journal.journal_line import Entry


class UnseenSet(NamedTuple):
    """A set whose result is unknown."""

    line: Entry
    properties: Properties


def doubtful(entries: Iterable[Entry]) -> tuple[Properties, ...] | None:
    """The properties that may be half set since the last set that ended with 0, one mapping for
    each set, in order; None if no set has been recorded."""
    found: list[Properties] = []
    known = False
    for entry in entries:
        match entry.event:
            case Setting(properties=properties):
                found.append(properties)
            case Set() | Settled():
                found, known = [], True
            case NotSet():
                found = found[:-1]
    return tuple(found) if found or known else None


def unseen(entries: Iterable[Entry]) -> tuple[UnseenSet, ...]:
    """The sets whose result is unknown, in order."""
    found: list[UnseenSet] = []
    ended = True
    for entry in entries:
        match entry.event:
            case Setting(properties=properties):
                found.append(UnseenSet(entry, properties))
                ended = False
            case Set() | NotSet() | HalfSet() if not ended:
                found.pop()
                ended = True
            case Settled():
                found, ended = [], True
    return tuple(found)
