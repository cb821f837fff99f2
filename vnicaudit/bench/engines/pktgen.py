"""pktgen, the packet generator of Linux: small packets by rate, beyond what iperf3 can send.

The sending end (the peer for ``rx``, the target for ``tx``) makes UDP packets to port 9 in its
kernel; nothing listens there. The receiving NIC counts packets: all of them, so measure where there
is little other traffic. ``frames``: frames of one size, 64 bytes unless ``size`` says otherwise
(with the check sequence); ``imix``: frames of 64, 594 and 1518 bytes, 7 to 4 to 1. A ``rate`` is
packets per second of all threads together; without one it is as fast as possible, which is a flood.
``connections`` are threads, each on a CPU and a queue of its own.

The sending end needs root and the module ``pktgen`` (which is loaded, and stays loaded); the
receiver has an IPv4 address on a link of the sender, with no router between them. Nothing is sent
unless the MAC that the sender sees there is that of the NIC which has the address, and the kernel
has accepted both as the only destination.

The warm-up is a separate run. Counters are read 2.5 s after the end, since some drivers fetch them
from the device every second or two.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from vnicaudit.bench.contract import (
    Ends,
    Measured,
    Needs,
    RequiredTool,
    SettledWorkload,
    Transport,
    failed_run,
)
from vnicaudit.bench.engines._pktgen import command, report
from vnicaudit.bench.engines._pktgen.report import SentFrames
from vnicaudit.bench.engines._pktgen.wire import (
    Wire,
    received_packets,
    require_ready,
    sender_of,
    wire,
)
from vnicaudit.bench.facts.sections import ask
from vnicaudit.errors import EndpointError, MeasureError, SilenceError
from vnicaudit.model.measurement import Ran, Workload

PATTERNS = {"frames": ("packet_rate", "loss"), "imix": ("packet_rate", "loss")}

_IP = RequiredTool("ip", {"apt": "iproute2", "dnf": "iproute", "zypper": "iproute2"})
_SLACK = 15.0
"""Seconds in addition to those of a run, after which it times out."""
_LAG_SECONDS = 2.5
_LOST = 0.5
"""Lost packets in per cent: below this at full speed, nothing on the way was full."""
_OFFERED = 0.98
"""Share of the rate that must have been sent."""
_FOREIGN = 1.02
"""Ratio of counted to sent packets above which other traffic was counted too."""


class PacketCount(NamedTuple):
    """Packets that were sent, and packets that the receiving NIC counted meanwhile."""

    sent: SentFrames
    received: int


def needs(workload: Workload) -> Needs:  # noqa: ARG001
    """iproute2 at both ends; pktgen itself is part of the kernel."""
    return Needs(target=(_IP,), peer=(_IP,))


def check(workload: Workload) -> None:
    """Raises UsageError if pktgen cannot run it as written."""
    command.check(workload, tuple(PATTERNS))


def settled(workload: Workload, ends: Sequence[Ends]) -> SettledWorkload:
    """The workload unchanged, if all sending ends can run it."""
    for each in ends:
        require_ready(sender_of(each, workload.direction), workload.connections)
    return SettledWorkload(workload)


def transport(workload: Workload) -> Transport:  # noqa: ARG001
    """Neither: the kernel counts whatever frames arrive."""
    return ""


def measure(workload: Workload, ends: Ends) -> Measured:
    """Run once, after a warm-up run."""
    raw: list[Ran] = []
    try:
        require_ready(sender_of(ends, workload.direction), workload.connections)
        line = wire(ends, workload.direction)
        if workload.warmup:
            _send(workload, line, int(workload.warmup), raw)
        before = received_packets(line)
        sent = _send(workload, line, int(workload.seconds), raw)
        time.sleep(_LAG_SECONDS)
        return measurement_of(workload, PacketCount(sent, received_packets(line) - before), raw)
    except MeasureError as error:
        return failed_run(error, raw)


def measurement_of(workload: Workload, count: PacketCount, raw: Sequence[Ran]) -> Measured:
    """The result in the metrics' units. Raises SilenceError if nothing arrived."""
    sent, received = count
    if received <= 0:
        raise SilenceError(f"none of {sent.sent} packets arrived")
    if received > _FOREIGN * sent.sent:
        raise MeasureError(
            f"the receiving NIC counted {received} packets, but {sent.sent} were sent: it carries "
            "other traffic too, which cannot be told apart"
        )
    loss = max(100 * (1 - received / sent.sent), 0.0)
    offered = sent.sent / sent.seconds
    return Measured(
        values={"packet_rate": min(received, sent.sent) / sent.seconds, "loss": loss},
        details={
            "sent": sent.sent, "received": received, "send_errors": sent.errors,
            "offered": round(offered, 1),
        },
        seconds=sent.seconds,
        bytes=received * command.frames_of(workload).payload,
        generator_limited=_limited(workload, offered, loss),
        raw=tuple(raw),
    )  # fmt: skip


def _limited(workload: Workload, offered: float, loss: float) -> bool:
    """True if the sender was the limit. At full speed towards the target, packets are lost if the
    way is full. When the target sends, its own queue holds it back, which is the subject of the
    measurement."""
    if workload.rate is not None:
        return offered < _OFFERED * workload.rate
    return workload.direction == "rx" and loss < _LOST


def _send(workload: Workload, line: Wire, seconds: int, raw: list[Ran]) -> SentFrames:
    threads = str(workload.connections)
    try:
        _prepare(workload, line, threads)
    except MeasureError:
        with suppress(EndpointError, MeasureError):
            ask(line.sender, command.CLEAR)
        raise
    argv = ("sh", "-c", command.RUN, "pktgen", line.device, threads, str(seconds))
    ran = line.sender.start(argv, seconds=seconds + _SLACK).wait(seconds + _SLACK)
    raw.append(ran)
    if ran.code != 0:
        raise MeasureError(f"pktgen at {line.sender.url} failed: {ran.stderr[-200:]}")
    return report.sent_frames(ran.stdout, workload.connections)


def _prepare(workload: Workload, line: Wire, threads: str) -> None:
    """Configure the devices, and check the settings in the kernel before the start."""
    settings = command.settings(workload, line)
    said = ask(line.sender, command.PREPARE, line.device, threads, *settings)
    text = "\n".join(section.text for section in said if section.name == "device")
    report.require_destination(text, line, workload.connections)
