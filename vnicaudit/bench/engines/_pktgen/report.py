"""Files of pktgen's devices: their settings and results (show_if of net/core/pktgen.c)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from vnicaudit.bench.engines._pktgen.wire import Wire
from vnicaudit.errors import MeasureError

_SENT = re.compile(r"^ +pkts-sofar: ([0-9]{1,18}) +errors: ([0-9]{1,18})$", re.MULTILINE)
_TIMES = re.compile(
    r"^ +started: ([0-9]{1,18})us +stopped: ([0-9]{1,18})us idle: ([0-9]{1,18})us$", re.MULTILINE
)
_RESULT = re.compile(r"^Result: (.*)$", re.MULTILINE)
_RATE = re.compile(r"^ +[0-9]+pps [0-9]+Mb/sec \([0-9]+bps\) errors: [0-9]+$", re.MULTILINE)
_DESTINATION = re.compile(r"^ +dst_min: (\S*) +dst_max: (\S*) *$", re.MULTILINE)
_MACS = re.compile(r"^ +src_mac: \S+ dst_mac: (\S+)$", re.MULTILINE)
_FLAGS = re.compile(r"^ {1,20}Flags:(.*)$", re.MULTILINE)
_BEGINNING = "Params: "


class SentFrames(NamedTuple):
    """Packets that were sent, packets that the NIC did not accept, and seconds."""

    sent: int
    errors: int
    seconds: float


def require_destination(text: str, wire: Wire, threads: int) -> None:
    """Raises MeasureError if a device, before its start, would send to anybody but the receiving
    end: another address or MAC, a range of addresses, or random addresses (a flag)."""
    addresses, macs = _DESTINATION.findall(text), _MACS.findall(text)
    flags = [word for line in _FLAGS.findall(text) for word in line.split()]
    meant = addresses == [(wire.address,) * 2] * threads and macs == [wire.mac] * threads
    if not meant or any("DST" in flag or "RND" in flag for flag in flags):
        raise MeasureError(
            f"pktgen was not started: it did not accept {wire.address} at {wire.mac} as its only "
            "destination"
        )


def sent_frames(text: str, threads: int) -> SentFrames:
    """Packets sent by the devices of that many threads. Raises MeasureError if the text is
    incomplete, or nothing was sent."""
    devices = [_of_device(part) for part in text.split(_BEGINNING)[1:]]
    if len(devices) != threads:
        raise MeasureError(f"pktgen's result is for {len(devices)} threads, not {threads}")
    return _together(devices)


def _of_device(text: str) -> SentFrames:
    sent, times = _only(_SENT, text), _only(_TIMES, text)
    if not _only(_RESULT, text)[1].startswith("OK: "):
        raise MeasureError(f"pktgen failed: {_only(_RESULT, text)[1][:80]}")
    _only(_RATE, text)
    seconds = (int(times[2]) - int(times[1])) / 1e6
    if seconds <= 0 or int(sent[1]) == 0:
        raise MeasureError("pktgen sent nothing")
    return SentFrames(int(sent[1]), int(sent[2]), seconds)


def _together(devices: Sequence[SentFrames]) -> SentFrames:
    return SentFrames(
        sum(one.sent for one in devices),
        sum(one.errors for one in devices),
        max(one.seconds for one in devices),
    )


def _only(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = list(pattern.finditer(text))
    if len(found) != 1:
        raise MeasureError("pktgen's result is incomplete")
    return found[0]
