"""What ``uperf -a -R -i 1`` prints: counters once a second, tables at the end.

``timestamp_ms:T name:Txn2 nr_bytes:B nr_ops:O`` (print.c, print_summary); within a transaction the
counters add up from its beginning. A connection that is hung up is no error to uperf, it takes it
for the end of the time (flowops_library.c, flowop_rw): then the counters end early, or stand still.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from vnicaudit.errors import MeasureError

_LINE = re.compile(
    r"^\r?timestamp_ms:(\d{1,15}\.\d{4}) name:Txn2 nr_bytes:(\d{1,18}) nr_ops:(\d{1,18})[ \r]*$",
    re.MULTILINE | re.ASCII,
)
_END = re.compile(r"^Difference\(%\)(?: +-?(?:\d+\.\d\d|nan|inf)%){5}\n\n", re.MULTILINE | re.ASCII)
"""The last line of the last table, which is printed when both ends have said goodbye."""
_TROUBLE = ("*** Slave aborted! ***", "Errors detected during run", "Error saying goodbye with")
_SILENCE = 5.0
"""Seconds without progress at the end of the time that counts: the path is dead."""
_EARLY = 1.0
"""Seconds by which uperf may end before the time it was asked for."""


class Counters(NamedTuple):
    """At a moment of the load: seconds, bytes both ways, and reads and writes."""

    at: float
    bytes: int
    operations: int


class Window(NamedTuple):
    """What came between two moments."""

    seconds: float
    bytes: int
    operations: int


def window(text: str, *, warmup: float, seconds: float, duration: float) -> Window:
    """What counts of a run that was asked to last ``duration``. Raises MeasureError where it is
    not all there, or says that something went wrong."""
    trouble = next((line for line in _TROUBLE if line in text), None)
    if trouble is not None:
        raise MeasureError(f"uperf: {trouble.strip('* ')}")
    if _END.search(text) is None:
        raise MeasureError("uperf's result is not whole")
    counters = [Counters(float(at) / 1000, int(b), int(o)) for at, b, o in _LINE.findall(text)]
    _check(counters)
    first = _first(counters, counters[0].at + warmup)
    last = _first(counters, first.at + seconds)
    _check_end(counters, last, duration)
    return Window(last.at - first.at, last.bytes - first.bytes, last.operations - first.operations)


def _check(counters: Sequence[Counters]) -> None:
    if not counters or counters[0].bytes or counters[0].operations:
        raise MeasureError("uperf's counters do not begin with none")
    for before, after in pairwise(counters):
        if after.at < before.at or after.bytes < before.bytes:
            raise MeasureError("uperf's counters go back")
        if after.operations < before.operations:
            raise MeasureError("uperf's counters go back")


def _first(counters: Sequence[Counters], since: float) -> Counters:
    found = next((each for each in counters if each.at >= since), None)
    if found is None:
        raise MeasureError("uperf ended before its time: were connections lost?")
    return found


def _check_end(counters: Sequence[Counters], last: Counters, duration: float) -> None:
    """The load was still on, and something came, at the end of what counts."""
    if last.at > counters[0].at + duration - _EARLY:
        raise MeasureError("uperf printed too seldom")
    before = [each for each in counters if each.at <= last.at - _SILENCE]
    if before and before[-1].operations == last.operations:
        raise MeasureError(f"nothing came or went for {_SILENCE:g} s")
