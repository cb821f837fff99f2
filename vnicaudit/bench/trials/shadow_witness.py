"""Proof that the packets of each run took the NIC that was meant to be measured.

By what the host counts on the two taps. The old NIC goes on serving, so its count says little; the
shadow has no other traffic than that which is measured.
"""

from __future__ import annotations

from vnicaudit.bench.running.forecast import Ahead
from vnicaudit.bench.running.listener import Listener
from vnicaudit.bench.trials.request import AFTER
from vnicaudit.errors import RefusedError
from vnicaudit.model.machine import Traffic
from vnicaudit.model.measurement import Sample, Workload
from vnicaudit.remedy.hypervisor import Machine

_FEW = 10
"""Packets each way that no run does without, and that ARP alone does not come to."""
_LARGEST = 65536
"""Bytes of a packet at most: with offloads, taps carry them unsegmented."""


class Taps:
    """Counts on the tap of the old NIC and on that of the shadow."""

    def __init__(self, machine: Machine, old: str, shadow: str) -> None:
        self._machine = machine
        self._names = (old, shadow)

    def traffic_now(self) -> tuple[Traffic, Traffic]:
        """Read both counters now. Raises RefusedError where the host cannot count."""
        old, shadow = (self._machine.traffic(name) for name in self._names)
        if old is None or shadow is None:
            raise RefusedError("the host cannot count the packets of both NICs")
        return old, shadow


class TapWitness:
    """A Listener that looks at the counts around each run, and passes on what it is told."""

    def __init__(self, taps: Taps, listener: Listener) -> None:
        self._taps = taps
        self._listener = listener
        self._before = taps.traffic_now()

    def prepares(self, text: str) -> None:
        """Passed on."""
        self._listener.prepares(text)

    def begins(self, ahead: Ahead) -> None:
        """Passed on."""
        self._listener.begins(ahead)

    def runs(self, workload: Workload, arm: str, ahead: Ahead) -> None:
        """Count before it."""
        self._listener.runs(workload, arm, ahead)
        self._before = self._taps.traffic_now()

    def sampled(self, sample: Sample) -> None:
        """Count behind it. Raises RefusedError where the packets went another way."""
        self._listener.sampled(sample)
        if not sample.valid:
            return
        after = self._taps.traffic_now()
        old, shadow = map(_traffic_since, self._before, after)
        on_shadow = sample.arm == AFTER
        right = shadow if on_shadow else old
        if not _carried(right, sample) or (not on_shadow and _carried(shadow, sample)):
            raise RefusedError(
                f"the packets of {sample.workload} did not take the "
                f"{'shadow' if on_shadow else 'old'} NIC: it had {_packets(right)}, the other one "
                f"{_packets(old if on_shadow else shadow)}"
            )

    def says(self, text: str) -> None:
        """Passed on."""
        self._listener.says(text)


def _traffic_since(before: Traffic, after: Traffic) -> Traffic:
    return Traffic(after.received - before.received, after.sent - before.sent)


def _carried(passed: Traffic, sample: Sample) -> bool:
    """True where the counted traffic is large enough to have been all of the run."""
    seconds = sample.covariates.seconds or 0.0
    least = sample.values.get("goodput", 0.0) * seconds / 8 / _LARGEST
    most = max(passed.received, passed.sent)
    return min(passed.received, passed.sent) >= _FEW and most >= least / 2


def _packets(passed: Traffic) -> str:
    return f"{passed.received} packets in and {passed.sent} out"
