"""Workload in, settings of pktgen out; and the scripts that configure and run it.

Documentation/networking/pktgen.rst. ``pkt_size`` excludes the four bytes of the check sequence.
pktgen has no duration: it runs until the process that wrote ``start`` gets a signal, so it ends
with the script, however that ends. The thread of CPU n sends on queue n.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.bench.engines._pktgen.wire import Wire
from vnicaudit.bench.engines._programs.checks import number_problems, require_none
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Workload

CHECK_SEQUENCE = 4
HEADERS = 14 + 20 + 8
"""Bytes of the Ethernet, IPv4 and UDP headers in a frame."""
_SMALLEST, _LARGEST = 64, 9018
_DISCARD = 9
"""UDP port on which nobody answers (RFC 863)."""
_MOST_THREADS = 64
_LONGEST = 3600

IMIX = ((64, 7), (594, 4), (1518, 1))
"""Bytes of a frame, and their number: smallest packets, and IP packets of 576 and 1500 bytes, 7 to
4 to 1, the mix for which imix_weights was made (N. Richardson, "pktgen: Parse internet mix (imix)
input", Linux 5.15: ``imix_weights 40,7 576,4 1500,1``; an IP packet of 40 bytes does not exceed the
smallest frame)."""


class Frames(NamedTuple):
    """Sizes of frames in bytes, and the number of each."""

    sizes: tuple[tuple[int, int], ...]

    @property
    def largest(self) -> int:
        """Bytes of the largest IP packet."""
        return max(size for size, _ in self.sizes) - 14 - CHECK_SEQUENCE

    @property
    def payload(self) -> float:
        """Average bytes of UDP payload in a frame."""
        count = sum(weight for _, weight in self.sizes)
        carried = sum((size - HEADERS - CHECK_SEQUENCE) * weight for size, weight in self.sizes)
        return carried / count


def frames_of(workload: Workload) -> Frames:
    """The frames of a workload."""
    if workload.pattern == "imix":
        return Frames(IMIX)
    return Frames(((workload.size or _SMALLEST, 1),))


def settings(workload: Workload, wire: Wire) -> tuple[str, ...]:
    """Lines for the file of a device, in order."""
    frames = frames_of(workload)
    if frames.largest > wire.mtu:
        raise MeasureError(
            f"packets of {frames.largest} bytes do not pass {wire.device}, whose MTU is {wire.mtu}"
        )
    sizes = [(size - CHECK_SEQUENCE, weight) for size, weight in frames.sizes]
    if len(sizes) > 1:
        size = "imix_weights " + " ".join(f"{size},{weight}" for size, weight in sizes)
    else:
        size = f"pkt_size {sizes[0][0]}"
    rate = [] if workload.rate is None else [f"ratep {round(workload.rate / workload.connections)}"]
    return (
        "count 0", "clone_skb 0", "delay 0", size,
        f"src_min {wire.source}", f"src_max {wire.source}",
        f"dst_min {wire.address}", f"dst_max {wire.address}", f"dst_mac {wire.mac}",
        f"udp_src_min {_DISCARD}", f"udp_src_max {_DISCARD}",
        f"udp_dst_min {_DISCARD}", f"udp_dst_max {_DISCARD}",
        *rate,
    )  # fmt: skip


PREPARE = r"""
cd /proc/net/pktgen || exit 1
device=$1 threads=$2
shift 2
n=0
while [ "$n" -lt "$threads" ]; do
    echo "add_device $device@$n" >"kpktgend_$n" || exit 1
    for setting; do
        echo "$setting" >"$device@$n" || exit 1
    done
    part device
    cat "$device@$n"
    n=$((n + 1))
done
"""
"""``$1``: NIC, ``$2``: threads; then settings. Prints the settings as the kernel understood
them."""

CLEAR = r"""
for thread in /proc/net/pktgen/kpktgend_*; do echo rem_device_all >"$thread"; done
"""

RUN = r"""
PATH=$PATH:/usr/local/bin:/usr/bin:/bin
cd /proc/net/pktgen || exit 1
device=$1 threads=$2 seconds=$3
clear() {
    kill "$writer" 2>/dev/null
    for thread in kpktgend_*; do echo rem_device_all >"$thread"; done
}
trap 'clear; exit 1' HUP INT TERM
echo start >pgctrl &
writer=$!
sleep "$seconds" &
wait $!
kill "$writer"
wait "$writer"
tries=0
while grep -q '^Running: *[^ ]' kpktgend_* && [ "$tries" -lt 50 ]; do
    sleep 0.1 2>/dev/null || sleep 1
    tries=$((tries + 1))
done
n=0
while [ "$n" -lt "$threads" ]; do
    cat "$device@$n"
    n=$((n + 1))
done
clear
"""
"""``$1``: NIC, ``$2``: threads, ``$3``: seconds. Prints the file of each device afterwards."""


def check(workload: Workload, patterns: tuple[str, ...]) -> None:
    """Raises UsageError if a workload cannot be run as written."""
    require_none(workload, _problems(workload, patterns))


def _problems(workload: Workload, patterns: tuple[str, ...]) -> Iterator[str]:
    if workload.pattern not in patterns:
        yield f"pktgen has no pattern {workload.pattern!r}; it has {', '.join(patterns)}"
    if workload.direction == "both":
        yield "direction both: pktgen sends one way at a time"
    if workload.generators != 1 or not 1 <= workload.connections <= _MOST_THREADS:
        yield f"pktgen has one generator, with 1 to {_MOST_THREADS} threads (connections)"
    if workload.seconds not in range(1, _LONGEST) or workload.warmup not in range(_LONGEST):
        yield "seconds and warmup: pktgen runs for whole seconds, at least one"
    yield from _of_size(workload)
    if workload.rate is not None and not workload.connections <= workload.rate <= 1e9:
        yield f"rate {workload.rate:g}: it is packets per second, at least one for each thread"
    yield from number_problems(workload, "pktgen", {})


def _of_size(workload: Workload) -> Iterator[str]:
    if workload.size is None:
        return
    if workload.pattern == "imix":
        yield "size: imix has sizes of its own"
    elif not _SMALLEST <= workload.size <= _LARGEST:
        yield (
            f"size {workload.size}: a frame has {_SMALLEST} to {_LARGEST} bytes, with its check "
            "sequence"
        )
