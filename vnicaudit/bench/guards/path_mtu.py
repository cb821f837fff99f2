"""Packets as large as the path's MTU still pass, unfragmented.

Checked by ``ping -M do`` (iputils) with the MTU that the path declares; by tracepath if ping cannot
do that (busybox), and to find the MTU if none is declared.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from vnicaudit.bench.contract import Ends, one_line
from vnicaudit.bench.guards._programs import failure_reason
from vnicaudit.bench.guards.ping import ping_summary
from vnicaudit.errors import MeasureError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.measurement import GuardRail, Path, Ran

_HEADERS = {4: 20 + 8, 6: 40 + 8}
"""Bytes of the IP and ICMP headers, by IP version."""
_LARGEST = 65535
"""Maximum size of an IP packet; loopback reports 65536."""

_RESUME = re.compile(r"^ +Resume: pmtu (\d{1,9}) hops \d+ back \d+ \n\Z", re.MULTILINE)


class MtuState(msgspec.Struct, frozen=True):
    """``mtu``: the size that must pass; None: it could not be determined. ``passed``: whether
    packets of that size passed; None: unknown."""

    mtu: int | None
    passed: bool | None
    reason: str = ""


class _Probe(NamedTuple):
    """One probe: packets of that size pass, or not; None: unknown."""

    passed: bool | None
    answer: str


def path_mtu(text: str) -> int:
    """The MTU in the output of tracepath (iputils). Raises MeasureError if it did not reach the
    other end."""
    found = _RESUME.search(text)
    if found is None:
        raise MeasureError("tracepath did not reach the other end")
    return int(found[1])


def before(ends: Ends, path: Path) -> str:
    """The MTU, and whether packets of that size pass."""
    try:
        mtu = path.mtu or path_mtu(_tracepath(ends).stdout)
    except MeasureError as error:
        state = MtuState(None, None, f"no MTU is declared, and {error}")
    else:
        found = _passes(ends, mtu)
        state = MtuState(mtu, found.passed, found.answer)
    return msgspec.json.encode(state).decode()


def after(ends: Ends, path: Path, before: str) -> GuardRail:
    """Broken if packets of that size no longer pass."""
    state = json_as(before, MtuState) if before else MtuState(path.mtu, True)
    if state.mtu is None:
        detail = state.reason or "no MTU is declared for this path"
        return GuardRail("path_mtu", path.name, "unknown", detail)
    if not state.passed:
        detail = f"{state.mtu} B did not get through before either: {state.reason}"
        return GuardRail("path_mtu", path.name, "unknown", detail)
    found = _passes(ends, state.mtu)
    if found.passed is None:
        return GuardRail("path_mtu", path.name, "unknown", found.answer)
    said = f"{state.mtu} B: {found.answer}"
    return GuardRail("path_mtu", path.name, "ok" if found.passed else "failed", said)


def trouble(before: str) -> str:
    """A sentence if packets of the path's MTU did not pass before the first run; empty: they did,
    or that is unknown."""
    state = json_as(before, MtuState)
    return f"{state.mtu} B: {state.reason}" if state.passed is False else ""


def _passes(ends: Ends, mtu: int) -> _Probe:
    """Probe by ping, or by tracepath if ping gave no answer."""
    size = min(mtu, _LARGEST) - _HEADERS[6 if ":" in ends.address else 4]
    argv = ("ping", "-c", "3", "-i", "0.2", "-W", "2", "-M", "do", "-s", str(size))
    ran = ends.peer.run((*argv, ends.address), seconds=20)
    try:
        found = ping_summary(ran.stdout)
    except MeasureError:
        return _by_tracepath(ends, mtu, ran)
    if found.received:
        return _Probe(True, f"{found.received} of {found.sent} got through")
    return _Probe(False, _complaint(ran))


def _complaint(ran: Ran) -> str:
    return one_line(ran.stderr) or "none got through"


def _by_tracepath(ends: Ends, mtu: int, pinging: Ran) -> _Probe:
    ran = _tracepath(ends)
    try:
        found = path_mtu(ran.stdout)
    except MeasureError as error:
        said = failure_reason(ran) if ran.code != 0 else str(error)
        return _Probe(None, f"{failure_reason(pinging)}; {said}")
    return _Probe(found >= min(mtu, _LARGEST), f"path MTU is {found} (tracepath)")


def _tracepath(ends: Ends) -> Ran:
    return ends.peer.run(("tracepath", "-n", "-m", "8", ends.address), seconds=60)
