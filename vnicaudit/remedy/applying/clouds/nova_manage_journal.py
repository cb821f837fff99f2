"""The result of every ``nova-manage image_property set``, as the journal of a server records it.

It saves the instance and then its request specification (``_update_image_properties`` in
nova/cmd/manage.py, Nova 34.0.0), and the second can be read nowhere: that both are saved is known
where it ended with 0 alone. A line ``setting`` is followed by ``set`` (it ended with 0), ``not
set`` (it saved nothing), ``half set`` (it ended, and may have saved one of the two), or by none of
them: its end was not seen, and it may still be at work.
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
    """A set whose end was not seen."""

    line: Entry
    properties: Properties


def doubtful(entries: Iterable[Entry]) -> tuple[Properties, ...] | None:
    """The properties that may be half set since the last set that ended with 0, one mapping for
    each set, in order; None where no set has been recorded."""
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
    """The sets whose end was not seen, in order."""
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
