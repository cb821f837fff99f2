"""The target's NICs count no new errors.

``/proc/net/dev`` (net/core/net-procfs.c, ``dev_seq_printf_stats``) of the target's own network
namespace is read; ``/proc/uptime`` after it shows that the output is complete. Dropped packets do
not break the guard rail: a receiver that is overloaded on purpose drops packets, and the kernel
also counts packets of unused protocols as dropped.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from vnicaudit.bench.contract import Ends
from vnicaudit.bench.guards._programs import kept_state, output_of
from vnicaudit.errors import MeasureError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.measurement import GuardRail, Path

_FEW = 10
_SHARE = 0.001
"""The guard rail is broken by more errors than this share of all packets, and more than a few."""
_MANY_DROPS = 0.01

_HEAD = re.compile(r"Inter-\|[^\n]*\n face \|[^\n]*\n")
_END = re.compile(r"^\d{1,12}\.\d\d \d{1,12}\.\d\d\n\Z", re.MULTILINE)
_LINE = re.compile(r" *([^\s:]+):((?: +\d{1,20}){16})")


class Counters(NamedTuple):
    """Counters of one interface, both directions added up."""

    packets: int
    errors: int
    dropped: int


class CounterState(msgspec.Struct, frozen=True):
    """Interface -> packets, errors, dropped."""

    counters: dict[str, Counters]


def counters(text: str) -> dict[str, Counters]:
    """Interface -> its counters, without ``lo``. Raises MeasureError for incomplete output."""
    head, end = _HEAD.match(text), _END.search(text)
    if head is None or end is None:
        raise MeasureError("/proc/net/dev cannot be read")
    found = {}
    for line in text[head.end() : end.start()].splitlines():
        read = _LINE.fullmatch(line)
        if read is None:
            raise MeasureError(f"/proc/net/dev has an invalid line: {line[:80]!r}")
        numbers = [int(number) for number in read[2].split()]
        found[read[1]] = _both_directions(numbers)
    found.pop("lo", None)
    return found


def _both_directions(numbers: list[int]) -> Counters:
    # receive: bytes packets errs drop fifo frame compressed multicast; transmit: bytes packets
    # errs drop fifo colls carrier compressed. fifo, frame and carrier are in errs or drop already.
    received, sent = numbers[:8], numbers[8:]
    return Counters(received[1] + sent[1], received[2] + sent[2], received[3] + sent[3])


def before(ends: Ends, path: Path) -> str:  # noqa: ARG001  (a Guard)
    """The present counters; empty if they cannot be read."""
    return kept_state(lambda: CounterState(_counters_now(ends)))


def after(ends: Ends, path: Path, before: str) -> GuardRail:
    """Broken if errors rose."""
    try:
        now = _counters_now(ends)
    except MeasureError as error:
        return GuardRail("counters", path.name, "unknown", str(error))
    if not before:
        return GuardRail("counters", path.name, "unknown", "their state before is unknown")
    was = json_as(before, CounterState).counters
    risen = {name: _risen(now[name], was.get(name, Counters(0, 0, 0))) for name in now}
    return _rail(path, risen)


def trouble(before: str) -> str:  # noqa: ARG001  (a Guard)
    """Always empty: errors counted earlier say nothing about the runs to come."""
    return ""


def _risen(now: Counters, was: Counters) -> Counters:
    """The counts since then. A NIC that counts less than before is a new one of the same name."""
    if any(new < old for new, old in zip(now, was, strict=True)):
        return now
    return Counters(*(new - old for new, old in zip(now, was, strict=True)))


def _rail(path: Path, risen: dict[str, Counters]) -> GuardRail:
    bad = [
        f"{name}: {count.errors} errors in {count.packets} packets"
        for name, count in risen.items()
        if count.errors > max(_FEW, _SHARE * count.packets)
    ]
    if bad:
        return GuardRail("counters", path.name, "failed", "; ".join(bad))
    drops = [
        f"{name}: {count.dropped} dropped next to {count.packets} packets, normal under overload"
        for name, count in risen.items()
        if count.dropped > max(_FEW, _MANY_DROPS * count.packets)
    ]
    if drops:
        return GuardRail("counters", path.name, "unknown", "; ".join(drops))
    return GuardRail("counters", path.name, "ok", "no errors beyond a few")


def _counters_now(ends: Ends) -> dict[str, Counters]:
    return counters(output_of(ends.target, ("cat", "/proc/net/dev", "/proc/uptime")))
