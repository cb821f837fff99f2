"""The target answers ping, over IPv4 and IPv6, as it did before."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import msgspec

from vnicaudit.bench.contract import Ends, one_line
from vnicaudit.bench.endpoints.ip_output import ADDRESSES, interfaces, other_family
from vnicaudit.bench.guards._programs import failure_reason, is_missing
from vnicaudit.errors import MeasureError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.measurement import GuardRail, Path, Ran

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
    """``mean``: milliseconds; None: no answers."""

    sent: int
    received: int
    mean: float | None

    @property
    def lost_packets(self) -> int:
        """Number of packets without an answer."""
        return self.sent - self.received


class PingState(msgspec.Struct, frozen=True):
    """Address -> packets lost before. ``reason``: why ping gave no result for the path's
    address."""

    lost_packets: dict[str, int]
    reason: str = ""


def ping_summary(text: str) -> Pinged:
    """The summary of ping (iputils, busybox). Raises MeasureError if it is incomplete."""
    found = _SUMMARY.search(text)
    mean = found and (found["rtt"] or found["trip"])
    if found is None or (int(found["received"]) and not mean):
        raise MeasureError("ping printed no summary")
    return Pinged(int(found["sent"]), int(found["received"]), float(mean) if mean else None)


def pinged(ends: Ends, count: int) -> Pinged | str:
    """The result of ``count`` echo requests to the path's address, or why there is none."""
    return _reached(_ping(ends, ends.address, count), count)


def before(ends: Ends, path: Path) -> str:  # noqa: ARG001  (a Guard)
    """The addresses of the target that answer: that of the path, and the one of its other
    family."""
    found = {
        to: _reached(_ping(ends, to)) for to in (ends.address, *_addresses_of_other_family(ends))
    }
    lost = {to: one.lost_packets for to, one in found.items() if isinstance(one, Pinged)}
    own = found[ends.address]
    return msgspec.json.encode(PingState(lost, own if isinstance(own, str) else "")).decode()


def after(ends: Ends, path: Path, before: str) -> GuardRail:
    """Broken if an address that answered before does not, or loses more packets than before."""
    state = json_as(before, PingState) if before else PingState({ends.address: 0})
    known = {address: lost for address, lost in state.lost_packets.items() if lost < _COUNT}
    if ends.address not in known:
        detail = state.reason or f"{ends.address} did not answer ping before either"
        return GuardRail("ping", path.name, "unknown", detail)
    judged = [_rail(address, _ping(ends, address), lost) for address, lost in known.items()]
    verdicts = [verdict for verdict, _ in judged]
    worst = min(verdicts, key=_BY_WEIGHT.index)
    return GuardRail("ping", path.name, worst, "; ".join(detail for _, detail in judged))


def trouble(before: str) -> str:  # noqa: ARG001  (a Guard)
    """Always empty: a target that ignores ping may still answer everything else."""
    return ""


_Verdict = Literal["ok", "failed", "unknown"]
_BY_WEIGHT: tuple[_Verdict, ...] = ("failed", "unknown", "ok")


def _rail(address: str, ran: Ran, lost_before: int) -> tuple[_Verdict, str]:
    found = _reached(ran)
    if isinstance(found, str):
        return "unknown", f"{address}: {found}"
    said = f"{address}: {found.received} of {found.sent} answered"
    if found.mean is not None:
        said += f", mean {found.mean:g} ms"
    if found.lost_packets > max(_MAY_BE_LOST, lost_before):
        reason = _complaint(ran)
        return "failed", f"{said}, {found.sent - lost_before} before{reason}"
    return "ok", said


def _reached(ran: Ran, count: int = _COUNT) -> Pinged | str:
    """The result of ping, or why it has none. If there is no route to the address, ping says so and
    prints no summary."""
    if is_missing(ran) or ran.code is None:
        return failure_reason(ran)
    try:
        return ping_summary(ran.stdout)
    except MeasureError:
        return Pinged(count, 0, None) if "unreachable" in ran.stderr else failure_reason(ran)


def _complaint(ran: Ran) -> str:
    said = one_line(ran.stderr)
    return f" ({said})" if said else ""


def _ping(ends: Ends, address: str, count: int = _COUNT) -> Ran:
    # 0.2 s is the shortest interval for users other than root
    argv = ("ping", "-q", "-c", str(count), "-i", "0.2", "-W", "2", address)
    return ends.peer.run(argv, seconds=30)


def _addresses_of_other_family(ends: Ends) -> tuple[str, ...]:
    """The target's address of the other family; none if it cannot be determined."""
    ran = ends.target.run(ADDRESSES)
    try:
        return other_family(interfaces(ran.stdout), ends.address)
    except MeasureError:
        return ()
