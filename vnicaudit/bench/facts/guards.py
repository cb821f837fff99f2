"""Guard rails: conditions that must hold whatever the throughput.

They are checked before the first run, and in each arm: after a change that is made only once, and
after the last run. A broken guard rail ends a measurement, so one check is not enough: it counts as
broken if two checks fail, and as intact if one check passes. A check that does not get through (a
slow agent, a lost peer) says nothing about the network, and does not count: if only one check got
through, and failed, the guard rail is unknown, and its result is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from vnicaudit.base.wording import one_line
from vnicaudit.bench.contract import Endpoint, Ends, Guard, RailCheck, readable
from vnicaudit.bench.endpoints.ip_output import ADDRESSES, interfaces, other_family, routes
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.measurement import GuardRail, Path, Ran

_NOT_FOUND = 127
"""Exit code of shells, env(1) and ssh for a program that is not there."""
_PACKAGES = {
    "ping": "iputils-ping (apt), iputils (dnf)",
    "ip": "iproute2 (apt), iproute (dnf)",
}


def _failure_reason(ran: Ran) -> str:
    """Why a program gave no result, with the package to install if it is missing."""
    program = ran.command[0]
    if ran.code == _NOT_FOUND:
        return f"{program} is not installed: {_PACKAGES[program]}"
    if ran.code is None:
        return f"{program} did not end in time"
    said = one_line(ran.stderr.strip() or ran.stdout)
    return f"{program} ended with exit code {ran.code}" + (f": {said}" if said else "")


class _AddressState(msgspec.Struct, frozen=True):
    """``gateways``: those of the default routes, "on-link" for a route without one. Interface names
    are left out: a NIC of another model may have another name."""

    addresses: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()


class AddressesGuard(Guard):
    """The target keeps its addresses and its default routes."""

    def before(self, ends: Ends, path: Path) -> str:  # noqa: ARG002  (a Guard)
        """The present addresses and gateways; empty if ip cannot list them."""
        try:
            return msgspec.json.encode(_address_state(ends)).decode()
        except MeasureError:
            return ""

    def after(self, ends: Ends, path: Path, before: str) -> RailCheck:  # noqa: ARG002  (a Guard)
        """Broken if one is gone. New ones are fine."""
        now = _address_state(ends)
        if not before:
            return RailCheck("unknown", "its state before is unknown")
        was = json_as(before, _AddressState)
        gone = [f"address {one} is gone" for one in was.addresses if one not in now.addresses]
        gone += [
            f"default route via {one} is gone" for one in was.gateways if one not in now.gateways
        ]
        if gone:
            return RailCheck("failed", "; ".join(gone))
        kept = ", ".join((*was.addresses, *(f"default via {way}" for way in was.gateways)))
        return RailCheck("ok", f"still there: {kept or 'none'}")


def _address_state(ends: Ends) -> _AddressState:
    """The present state. Raises MeasureError if there is no ip, or one without JSON (busybox)."""
    lasting = {
        f"{address.local}/{address.prefixlen}"
        for interface in interfaces(_output_of(ends.target, ADDRESSES))
        for address in interface.addr_info
        if address.lasts
    }
    gateways = {
        route.gateway or "on-link"
        for version in ("-4", "-6")
        for route in routes(_output_of(ends.target, ("ip", "-j", version, *_DEFAULT_ROUTES)))
    }
    return _AddressState(tuple(sorted(lasting)), tuple(sorted(gateways)))


_DEFAULT_ROUTES = ("route", "show", "default")


def _output_of(endpoint: Endpoint, argv: Sequence[str]) -> str:
    """The output of a program. Raises MeasureError if it failed, or is missing."""
    ran = endpoint.run(argv)
    if ran.code != 0:
        raise MeasureError(_failure_reason(ran))
    return ran.stdout


_COUNT = 10
_MAY_BE_LOST = 1
"""One lost packet of ten is normal on a busy link."""
_MEAN = r"\d{1,9}(?:\.\d{1,9})?"
_SUMMARY = re.compile(
    r"^--- .* ping statistics ---\n"
    r"(?P<sent>\d{1,9}) packets transmitted, (?P<received>\d{1,9}) (?:packets )?received,"
    r"(?: \+?\d+ (?:duplicates|corrupted|errors),)* [\d.]+% packet loss"
    # iputils (ping_common.c, finish) always prints one more line, even if it is empty
    rf"(?:, time \d+ms\n(?:rtt min/avg/max/mdev = [\d.]+/(?P<rtt>{_MEAN})/[\d./]+ ms)?[^\n]*\n"
    # busybox (networking/ping.c, print_stats_and_exit) prints it only after an answer
    rf"|\n(?:round-trip min/avg/max = [\d.]+/(?P<trip>{_MEAN})/[\d.]+ ms\n)?)\Z",
    re.MULTILINE,
)


class Pinged(NamedTuple):
    """``mean``: milliseconds; None: no answers. ``complaint``: the first line of ping's errors."""

    sent: int
    received: int
    mean: float | None
    complaint: str = ""

    @property
    def lost_packets(self) -> int:
        """Number of packets without an answer."""
        return self.sent - self.received


def ping_summary(text: str) -> Pinged:
    """The summary of ping (iputils, busybox). Raises MeasureError if it is incomplete."""
    found = _SUMMARY.search(text)
    mean = found and (found["rtt"] or found["trip"])
    if found is None or (int(found["received"]) and not mean):
        raise MeasureError("ping printed no summary")
    return Pinged(int(found["sent"]), int(found["received"]), float(mean) if mean else None)


def pinged(ends: Ends, address: str, count: int = _COUNT) -> Pinged:
    """The result of ``count`` echo requests from the peer. If there is no route to the address,
    ping says so and prints no summary: nothing was answered. Raises MeasureError if there is no
    result."""
    # 0.2 s is the shortest interval for users other than root
    argv = ("ping", "-q", "-c", str(count), "-i", "0.2", "-W", "2", address)
    ran = ends.peer.run(argv, seconds=30)
    if ran.code in (_NOT_FOUND, None):
        raise MeasureError(_failure_reason(ran))
    try:
        found = ping_summary(ran.stdout)
    except MeasureError:
        if "unreachable" not in ran.stderr:
            raise MeasureError(_failure_reason(ran)) from None
        found = Pinged(count, 0, None)
    return found._replace(complaint=one_line(ran.stderr))


class _PingState(msgspec.Struct, frozen=True):
    """Address -> packets lost before. ``reason``: why ping gave no result for the path's
    address."""

    lost_packets: dict[str, int]
    reason: str = ""


class PingGuard(Guard):
    """The target answers ping, over IPv4 and IPv6, as it did before. That it does not is no
    trouble: a target that ignores ping may still answer everything else."""

    def before(self, ends: Ends, path: Path) -> str:  # noqa: ARG002  (a Guard)
        """The addresses of the target that answer: that of the path, and the one of its other
        family."""
        lost, reason = {}, ""
        for address in (ends.address, *_addresses_of_other_family(ends)):
            try:
                lost[address] = pinged(ends, address).lost_packets
            except MeasureError as error:
                reason = str(error) if address == ends.address else reason
        return msgspec.json.encode(_PingState(lost, reason)).decode()

    def after(self, ends: Ends, path: Path, before: str) -> RailCheck:  # noqa: ARG002  (a Guard)
        """Broken if an address that answered before does not, or loses more packets than before."""
        state = json_as(before, _PingState) if before else _PingState({ends.address: 0})
        known = {address: lost for address, lost in state.lost_packets.items() if lost < _COUNT}
        if ends.address not in known:
            why = state.reason or f"{ends.address} did not answer ping before either"
            return RailCheck("unknown", why)
        checks = [_ping_check(ends, address, lost) for address, lost in known.items()]
        worst = min((each.verdict for each in checks), key=("failed", "unknown", "ok").index)
        return RailCheck(worst, "; ".join(each.detail for each in checks))


def _ping_check(ends: Ends, address: str, lost_before: int) -> RailCheck:
    try:
        found = pinged(ends, address)
    except MeasureError as error:
        return RailCheck("unknown", f"{address}: {error}")
    said = f"{address}: {found.received} of {found.sent} answered"
    if found.mean is not None:
        said += f", mean {found.mean:g} ms"
    if found.lost_packets <= max(_MAY_BE_LOST, lost_before):
        return RailCheck("ok", said)
    reason = f" ({found.complaint})" if found.complaint else ""
    return RailCheck("failed", f"{said}, {found.sent - lost_before} before{reason}")


def _addresses_of_other_family(ends: Ends) -> tuple[str, ...]:
    """The target's address of the other family; none if it cannot be determined."""
    try:
        return other_family(interfaces(ends.target.run(ADDRESSES).stdout), ends.address)
    except MeasureError:
        return ()


_HEADERS = {4: 20 + 8, 6: 40 + 8}
"""Bytes of the IP and ICMP headers, by IP version."""
_LARGEST = 65535
"""Maximum size of an IP packet; loopback reports 65536."""


class _MtuState(msgspec.Struct, frozen=True):
    """``mtu``: the size that must pass; None: it could not be determined. ``passed``: whether
    packets of that size passed; None: unknown."""

    mtu: int | None
    passed: bool | None
    reason: str = ""


class PathMtuGuard(Guard):
    """Packets as large as the MTU of the target's NIC still pass, unfragmented: ``ping -M do`` of
    iputils, which busybox's cannot do."""

    def before(self, ends: Ends, path: Path) -> str:
        """The MTU, and whether packets of that size pass."""
        state = _MtuState(None, None) if path.mtu is None else _passes(ends, path.mtu)
        return msgspec.json.encode(state).decode()

    def after(self, ends: Ends, path: Path, before: str) -> RailCheck:
        """Broken if packets of that size no longer pass."""
        state = json_as(before, _MtuState) if before else _MtuState(path.mtu, True)
        if state.mtu is None:
            return RailCheck("unknown", "the MTU of the target's NIC is unknown")
        if not state.passed:
            why = f"{state.mtu} B did not get through before either: {state.reason}"
            return RailCheck("unknown", why)
        found = _passes(ends, state.mtu)
        if found.passed is None:
            return RailCheck("unknown", found.reason)
        return RailCheck("ok" if found.passed else "failed", f"{state.mtu} B: {found.reason}")

    def trouble(self, before: str) -> str:
        """A sentence if packets of the path's MTU did not pass before the first run; empty: they
        did, or that is unknown."""
        state = json_as(before, _MtuState)
        return f"{state.mtu} B: {state.reason}" if state.passed is False else ""


def _passes(ends: Ends, mtu: int) -> _MtuState:
    size = min(mtu, _LARGEST) - _HEADERS[6 if ":" in ends.address else 4]
    argv = ("ping", "-c", "3", "-i", "0.2", "-W", "2", "-M", "do", "-s", str(size))
    ran = ends.peer.run((*argv, ends.address), seconds=20)
    try:
        found = ping_summary(ran.stdout)
    except MeasureError:
        return _MtuState(mtu, None, _failure_reason(ran))
    if found.received:
        return _MtuState(mtu, True, f"{found.received} of {found.sent} got through")
    return _MtuState(mtu, False, one_line(ran.stderr) or "none got through")


GUARDS: Mapping[str, Guard] = {
    "addresses": AddressesGuard(),
    "path_mtu": PathMtuGuard(),
    "ping": PingGuard(),
}
"""Guard rails by name."""

RailStates = Mapping[str, str]
"""Guard rail -> the state to compare it with."""
_LOOKS = 3


def states_before(guards: Mapping[str, Guard], ends: Ends, path: Path) -> RailStates:
    """The present states of the guard rails. A guard rail that cannot be checked is left out:
    :func:`checks_after` reports it."""
    found: dict[str, str] = {}
    for name, guard in guards.items():
        with suppress(EndpointError, MeasureError), readable("what was printed"):
            found[name] = guard.before(ends, path)
    return found


def troubles(guards: Mapping[str, Guard], states: RailStates) -> Iterator[str]:
    """Problems that guard rails saw when these states were read, one sentence for each guard rail
    with any."""
    for name, guard in guards.items():
        if states.get(name):
            with suppress(MeasureError), readable("what was printed"):
                if said := guard.trouble(states[name]):
                    yield f"guard rail {name}, before the first run: {one_line(said)}"


def checks_after(
    guards: Mapping[str, Guard], ends: Ends, path: Path, kept: RailStates
) -> list[GuardRail]:
    """The results of the guard rails now, compared with ``kept``; their arm is the path's name."""
    return [
        GuardRail(name, path.name, *_confirmed(guard, ends, path, kept.get(name)))
        for name, guard in guards.items()
    ]


def _confirmed(guard: Guard, ends: Ends, path: Path, before: str | None) -> RailCheck:
    """The result of two checks; of three, if one of them failed and another did not get through."""
    if before is None:
        return RailCheck("unknown", "it could not be checked before")
    failed, why = "", ""
    for number in range(_LOOKS):
        got_through = True
        try:
            found = check(guard, ends, path, before)
        except EndpointError as error:
            found, got_through = RailCheck("unknown", one_line(str(error))), False
        why = found.detail
        if found.verdict == "ok" or (found.verdict == "failed" and failed):
            return found
        if found.verdict == "failed":
            failed = found.detail or "no details"
        elif not failed and (got_through or number):
            return found
    once = f"it failed once ({failed}), and could not be checked again: {why}"
    return RailCheck("unknown", once)


def check(guard: Guard, ends: Ends, path: Path, before: str) -> RailCheck:
    """The result now. Raises EndpointError if an end does not answer."""
    try:
        with readable("what was printed"):
            return guard.after(ends, path, before)
    except MeasureError as error:
        return RailCheck("unknown", one_line(str(error)))
