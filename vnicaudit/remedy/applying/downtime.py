"""The downtime of guests that a run stopped, as its journal records it."""

from __future__ import annotations

from collections.abc import Sequence

from vnicaudit.remedy.applying.journal.events import Started, Starting, Stopped, Stopping
from vnicaudit.remedy.applying.journal.journal_file import seconds_between
from vnicaudit.remedy.applying.journal.journal_line import Entry, begin_of
from vnicaudit.remedy.applying.journal.transaction import common_part

_POWER = (Stopping, Stopped, Starting, Started)


def may_be_off(entries: Sequence[Entry]) -> str:
    """A hint on starting the guest by hand, if it ran, was stopped by this run and has not been
    seen running since; empty: not needed."""
    begin = begin_of(entries)
    power = [entry.event for entry in entries if isinstance(entry.event, _POWER)]
    if begin is None or not power or isinstance(power[-1], Started):
        return ""
    transaction = common_part(begin)
    if not transaction.active or not transaction.start:
        return ""
    return f"it was running before and may be off now; to start it by hand: {transaction.start}"


def seconds_off(entries: Sequence[Entry]) -> float:
    """Seconds for which the run had a server off, summed over its stops; 0: it was never seen off
    and running again. A server that was asked to stop and did not is not counted."""
    total, began, off = 0.0, None, False
    for entry in entries:
        if isinstance(entry.event, Stopping):
            began = began or entry
        elif isinstance(entry.event, (Stopped, Starting)):
            off = True
        elif isinstance(entry.event, Started):
            if began is not None and off:
                total += seconds_between(began, entry)
            began, off = None, False
    return total
